import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { Loc } from '../../../http/fields.ts';
import { delayedRun } from '../../common/delayed-runs.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import { graphFacts } from '../../common/graph-facts.ts';
import { withoutReadOnly } from '../../common/read-only-fields.ts';
import type { RunOrder } from '../../common/run-order.ts';
import type { Services } from '../../common/services.ts';
import { startRun } from '../../common/start-run.ts';
import { readModes } from '../frames/modes.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { isUuid, noUuid } from '../ids/uuid.ts';
import { toRunOrder, withMetadata, type Meant } from '../in/run-order.ts';
import { toKeptRequest, type Started } from '../out/kept-request.ts';
import { nodeConfigOf } from '../out/node-config.ts';
import { factsOf, toRun } from '../out/run.ts';
import { inputOf } from '../out/shown-checkpoints.ts';
import { asSent } from '../replies/as-sent.ts';
import { refusalWith } from '../replies/refusal.ts';
import type { RunInput } from '../schemas/runs.ts';
import { assistantOfRun, type KnownAssistant } from './known-assistant.ts';
import { wake } from '../live/wake.ts';
import { threadMatch } from './threads.ts';

type Request = EndpointRequest;

/** Where a run is asked for. */
interface Asked {
  readonly body: RunInput;
  /** Absent: on a thread of its own. */
  readonly threadId?: string;
  readonly loc?: Loc;
}

/** A run that its body asks for, with what its assistant and its thread say about it. */
interface OrderedRun extends Asked {
  readonly order: RunOrder;
  readonly terms: RunTerms;
  readonly assistantId: string;
  readonly agent: string;
}

/** Reads what a body asks for. @throws Invalid, and NotFound where thread or assistant are absent */
export async function orderRun(request: Request, asked: Asked, services: Services): Promise<OrderedRun> {
  const { threadId, loc = ['body'] } = asked;
  const body = withMetadata(asked.body);
  readModes(body.stream_mode, [...loc, 'stream_mode']);
  const known = await assistantOfRun(request, body.assistant_id, services);
  const match =
    threadId === undefined ? undefined : await undefinedIfNotFound(threadMatch(request, threadId, services));
  if (threadId !== undefined && !match && !isUuid(threadId)) throw refusalWith('Invalid', noUuid('thread'));
  if (threadId !== undefined && !match && body.if_not_exists !== 'create')
    throw refusalWith('NotFound', 'Thread or assistant not found.');
  const assistantId = 'own' in known ? assistantIdOf(known.own) : known.stored.id;
  const agent = 'own' in known ? known.own : known.agent;
  // A thread shows its graph, and the graph's own assistant, without them.
  const marks = 'own' in known && threadId === undefined ? undefined : { graph_id: agent, assistant_id: assistantId };
  const { input: takes } = await graphFacts(services.execution, { agent }, request.call());
  const given = toRunOrder(body, {
    takes,
    ...(threadId !== undefined && { threadId }),
    assistant: {
      ...('own' in known ? { agent } : { assistant_id: assistantId }),
      ...{ graph_id: agent, langgraph_assistant_id: assistantId },
    },
    ...('stored' in known && { assistantContext: known.stored.context }),
    recursionLimit: limitOf(known),
    threadMetadata: { ...marks, ...body.metadata },
    loc,
  });
  const { order: whole, terms } = fromItsInput(given);
  const { initial_state: fields } = whole;
  const place = { owner: request.owner, call: request.call, agent, threadId };
  const order = fields ? { ...whole, initial_state: await withoutReadOnly(fields, place, services) } : whole;
  const ordered = {
    ...asked,
    body,
    order,
    terms: { ...terms, ...(marks && { threadMarks: marks }) },
    assistantId,
    agent,
  };
  return {
    ...ordered,
    terms: { ...ordered.terms, keptRequest: toKeptRequest(startedOf(ordered), sizes.shownRequest) },
  };
}

/** What a run shows of its request. */
export function startedOf({ body, assistantId, order }: Pick<OrderedRun, 'body' | 'assistantId' | 'order'>): Started {
  const { recursion_limit: limit } = body.config ?? {};
  const config = { ...nodeConfigOf(order.config), ...(typeof limit === 'number' && { recursion_limit: limit }) };
  return { body, assistantId, config };
}

/** A run that goes on before the input of another takes that again: it begins behind it, as that one did. Any other stays as it is. */
function fromItsInput(given: Meant): Meant {
  const { order, terms } = given;
  const { checkpoint_id: named } = order.config ?? {};
  const id = terms.goesOn && named !== undefined ? inputOf(String(named)) : undefined;
  return id === undefined ? given : { terms, order: { ...order, config: { ...order.config, checkpoint_id: id } } };
}

function limitOf(known: KnownAssistant): number | undefined {
  const limit = 'stored' in known ? known.stored.config['recursion_limit'] : undefined;
  return typeof limit === 'number' ? limit : undefined;
}

/** A run that was accepted. */
type Accepted = Pick<StartReply, 'runId' | 'threadId' | 'end'> & {
  /** Whether it can have ended only since. */
  readonly justStarted: boolean;
};

/** Accepts a run that begins now. Its end is waited for so many milliseconds. */
export async function acceptNow(
  request: Request,
  ordered: OrderedRun,
  services: Services,
  awaitEndMs?: number,
): Promise<Accepted> {
  const { order, terms, body } = ordered;
  const started = startRun({ ...request, input: order }, { granularity: 'full', terms, awaitEndMs }, services);
  const { runId, threadId, status, end } = await started.catch(whileBusy(body)).catch(namedAsSent(ordered));
  wake({ owner: request.owner, threadId });
  return { runId, threadId, justStarted: isOpen(status), ...(end && { end }) };
}

/** A run that was accepted, and the reply to its request. */
interface Shown extends Pick<Accepted, 'runId' | 'threadId'> {
  readonly shown: object;
}

/** Accepts a run, now or later, and shows it as it was accepted, however far it has come since. */
export async function acceptOrdered(request: Request, ordered: OrderedRun, services: Services): Promise<Shown> {
  const { owner, call, at } = request;
  const { order, terms, body, agent } = ordered;
  const started = startedOf(ordered);
  const after = body.after_seconds ?? 0;
  if (after > 0) {
    const keptRequest = toKeptRequest(started, keptOfLater);
    const later = { ...order, start_at: at.getTime() + after * 1000 };
    const delaying = delayedRun({ ...request, input: later }, { ...terms, keptRequest }, services);
    const delayed = await delaying.catch(namedAsSent(ordered));
    if (delayed) {
      const facts = { ...delayed, agent, status: 'pending', createdAt: at.getTime(), updatedAt: at.getTime() };
      return { ...delayed, shown: toRun(facts, started) };
    }
  }
  const { runId, threadId } = await acceptNow(request, ordered, services);
  const run = await services.threads.getRun({ owner, runId }, call());
  const accepted = { ...factsOf(run), status: 'pending', updatedAt: run.createdAt };
  return { runId, threadId, shown: toRun(accepted, started) };
}

/** What the record keeps of the request of a run that starts later, in bytes: beside the run itself. */
const keptOfLater = 4 * 1024;

/** Turns an error of what is made of a request into one that names what stands in it. */
export function namedAsSent({ body, loc = ['body'] }: Asked): (error: unknown) => never {
  const input = body.command ? [...loc, 'command', 'update'] : [...loc, 'input'];
  const before = [...loc, 'interrupt_before'];
  const after = [...loc, 'interrupt_after'];
  return asSent({
    ...{ initialState: input, initial_state: input, messages: [...input, 'messages'] },
    ...{ interruptBefore: before, interrupt_before: before, interruptAfter: after, interrupt_after: after },
  });
}

/** The words for a thread whose run is under way. */
const whileBusy =
  ({ multitask_strategy: strategy }: RunInput) =>
  (error: unknown): never => {
    const isBusy = strategy === 'reject' && isServiceError(error, 'Conflict') && error.message.endsWith(underWay);
    throw isBusy ? refusalWith('Conflict', alreadyRunning) : error;
  };

const underWay = 'has a run under way';
const alreadyRunning =
  'Thread is already running a task. Wait for it to finish or choose a different multitask strategy.';

/** Whether a run starts later. */
export const startsLater = ({ after_seconds: after = 0 }: RunInput): boolean => after > 0;

/** Where a run is found, for clients that learn it from the headers of a reply. */
export const placeOf = (threadId: string, runId: string): string =>
  `/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}`;

/** The headers of a reply that has waited for a run, or that can be joined. */
export function joinable(threadId: string, runId: string): Readonly<Record<string, string>> {
  const place = placeOf(threadId, runId);
  return { 'Content-Location': place, Location: `${place}/join` };
}
