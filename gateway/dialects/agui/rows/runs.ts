import { hash } from 'node:crypto';
import { notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent, StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, RunStream, StreamExtras } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { messageKeyed } from '../../../idempotency/index.ts';
import { framed, type FramePlace, type ToFrames } from '../../common/framed.ts';
import { graphFacts } from '../../common/graph-facts.ts';
import { knownAgents } from '../../common/known-agents.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { RunTerms } from '../../../schedules/run-terms.ts';
import type { RunOrder } from '../../common/run-order.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { isThreadThere, startRun, stopOnDisconnect } from '../../common/start-run.ts';
import { encodeEvents, placeIn, type AguiEvent, type ShownMessages } from '../events/framing.ts';
import { createRunEvents } from '../events/run-events.ts';
import { wholeOf } from '../messages/to-agui.ts';
import { AgentParams, RunAgentInput, ThreadInput } from '../schemas/run-input.ts';
import { answersOf } from './answers.ts';
import { beginningOf, fieldsOf } from './beginning.ts';
import { changedState, isBehind } from './changed-state.ts';
import { beginsThread, newMessages } from './new-messages.ts';

const stream = { resource: 'graph', action: 'stream' } as const;

/** The longest stream, one day, in milliseconds: a stream normally ends with its run, or when its reader disconnects. */
const streamMs = 24 * 60 * 60 * 1000;

/** How often one node may run; as `/v1` has it. */
const recursionLimit = 25;

/** The first version of the protocol that is not understood. */
const nextVersion = 2;

/** What the record keeps of a request: the ids that its caller knows the run by, and whether that speaks an earlier version than 1.0. */
interface Kept {
  readonly ag_ui?: { readonly runId: string; readonly parentRunId?: string; readonly isEarlier?: true };
}

/** @throws NotFound */
async function requireAgent(
  { params, call }: EndpointRequest<{ readonly agent: string }>,
  { execution }: Pick<Services, 'execution'>,
): Promise<void> {
  const { names } = await knownAgents(execution, call());
  if (!names.includes(params.agent)) throw notFound(`there is no agent "${params.agent}"`);
}

/** The run that a request asks for, or the one that has what others have answered. @throws Invalid, and BadRequest where questions are left open */
async function toOrder(
  request: EndpointRequest<{ readonly agent: string }, RunAgentInput>,
  isNewThread: boolean,
  services: Services,
): Promise<RunOrder | { readonly found: Run }> {
  const { owner, call, input, params } = request;
  const { threadId, protocolVersion = '1.0', tools = [], context = [], forwardedProps } = input;
  if (!(Number.parseInt(protocolVersion, 10) < nextVersion))
    throw invalidAt(['body', 'protocolVersion'], 'must be 1.0, or an earlier one');
  const thread = isNewThread
    ? undefined
    : await undefinedIfNotFound(services.threads.getThread({ owner, threadId }, call()));
  const [{ messages, knowsThread }, changed] = await Promise.all([
    newMessages(request, thread, services),
    changedState(request, isNewThread, services),
  ]);
  const { resume, answered } = await answersOf(request, messages.length > 0, services);
  if (answered && !resume && messages.length === 0) return { found: (await earlierRun(request, services)) ?? answered };
  const hasChanged = Object.keys(changed).length > 0;
  const isOld =
    answered !== undefined || (thread && hasChanged && (await isBehind(request, { thread, knowsThread }, services)));
  return {
    ...(messages.length > 0 && { messages }),
    ...(resume && { resume }),
    ...(((hasChanged && !isOld) || (messages.length === 0 && !resume)) && { initial_state: isOld ? {} : changed }),
    ...(tools.length > 0 && { tools }),
    ...((context.length > 0 || forwardedProps !== undefined) && {
      context: { ...(context.length > 0 && { context }), ...(forwardedProps !== undefined && { forwardedProps }) },
    }),
    recursion_limit: recursionLimit,
    config: { thread_id: threadId, agent: params.agent },
  };
}

/** The run that an earlier attempt at this request has started. */
const earlierRun = (
  { owner, newId, call }: RunRequest,
  { threads }: Pick<Services, 'threads'>,
): Promise<Run | undefined> => undefinedIfNotFound(threads.getRun({ owner, runId: newId('run') }, call()));

const digestOf = (input: RunAgentInput | readonly string[]): string =>
  hash('sha256', JSON.stringify(input), 'base64url');

const toKept = ({ runId, parentRunId, protocolVersion }: RunAgentInput) =>
  ({
    ag_ui: {
      runId,
      ...(parentRunId !== undefined && { parentRunId }),
      ...((protocolVersion === undefined || Number.parseInt(protocolVersion, 10) < 1) && { isEarlier: true }),
    },
  }) satisfies Kept;

/** What the record keeps of the request of a run. */
async function keptOf(
  { owner, runId }: Pick<Following, 'owner' | 'runId'>,
  call: Call,
  { threads }: Pick<Services, 'threads'>,
): Promise<Kept['ag_ui']> {
  const { requests } = await threads.listRunRequests({ owner, runIds: [runId] }, call);
  const [{ requestJson } = {}] = requests;
  return requestJson === undefined ? undefined : (JSON.parse(jsonText(requestJson)) as Kept).ag_ui;
}

interface Following {
  readonly owner: string;
  readonly runId: string;
  readonly agent: string;
  readonly shown?: ShownMessages;
  /** The messages that the page has sent; absent: they are not known. */
  readonly sent?: RunAgentInput['messages'];
  readonly place?: FramePlace | undefined;
  /** What its request says; absent: the record is read for it. */
  readonly kept?: Kept['ag_ui'];
  /** Whether it began in an empty thread, and its request had no fields. */
  readonly beganEmpty?: boolean;
}

/** The events of AG-UI in place of those of a run. Streams of one `name` have the same bytes. */
const inEvents = (
  { owner, runId, agent, shown = '', sent, place, kept: known, beganEmpty = false }: Following,
  services: Services,
): StreamExtras => {
  const ids = sent?.map(({ id }) => id);
  return framed<AguiEvent>({
    name: `agui ${shown} ${ids ? digestOf(ids) : ''} ${place ? `${String(place.after)}.${String(place.skipped)}` : ''}`,
    place,
    begin: ({ threadId }, call) => {
      let toEvents: ToFrames<AguiEvent> | undefined;
      const make = async () => {
        const [kept, { subgraphs, defaults }] = await Promise.all([
          known ?? keptOf({ owner, runId }, call, services),
          graphFacts(services.execution, { agent }, call),
        ]);
        return createRunEvents({
          run: { runId, threadId, name: kept?.runId ?? runId, parentRunId: kept?.parentRunId },
          shown,
          known: ids && new Set(ids.flatMap((id) => [id, wholeOf(id) ?? id])),
          subgraphs,
          isEarlier: kept?.isEarlier === true,
          beginning: (withMessages) =>
            beganEmpty && !withMessages
              ? Promise.resolve({ fields: fieldsOf(defaults), messages: [] })
              : beginningOf({ owner, threadId, runId }, services, call),
        });
      };
      const first = async (event: RunEvent) => {
        toEvents = await make();
        return toEvents(event);
      };
      return (event) => toEvents?.(event) ?? first(event);
    },
    encode: (events, { seq }, skipped) => encodeEvents(events, { runId, seq, skipped, shown }),
  });
};

const run = endpoint({
  name: 'aguiRun',
  method: 'POST',
  path: '/agui/{agent}',
  startsRun: true,
  answer: 'events',
  access: stream,
  params: AgentParams,
  input: RunAgentInput,
  handle: async (given, services): Promise<RunStream> => {
    const { owner, call, input, params } = given;
    await requireAgent(given, services);
    // The same request again is the run that it was the first time.
    const request = messageKeyed(given, ['agui', params.agent, input.threadId, input.runId, digestOf(input)]);
    const keptRequest = toKept(request.input);
    const begun = await startInThread(request, { keptRequest }, services);
    if ('found' in begun) {
      const { runId, agent } = begun.found;
      return {
        follow: { owner, runId, after: 0 },
        call: call(streamMs),
        extras: inEvents({ owner, runId, agent }, services),
      };
    }
    const { order, started } = begun;
    const { runId, status, isNewThread } = started;
    // Of a request that comes again nothing is new to the thread.
    const beganEmpty = isNewThread && Object.keys(input.state ?? {}).length === 0;
    stopOnDisconnect({ ...request, input: order }, runId, services);
    request.releaseInput();
    await request.markAccepted();
    return {
      follow: { owner, runId, after: 0, justStarted: isOpen(status) },
      call: call(streamMs),
      extras: inEvents(
        {
          ...{ owner, runId, agent: request.params.agent, kept: keptRequest.ag_ui, beganEmpty },
          // What stands in the thread shows when the run begins: the answer of others may be under way until then.
          ...(!isNewThread && { shown: 'b', sent: input.messages }),
        },
        services,
      ),
    };
  },
});

type RunRequest = EndpointRequest<{ readonly agent: string }, RunAgentInput>;

/** Starts the run of a request: where it is likely to begin its thread, without a look at the record before. */
async function startInThread(
  request: RunRequest,
  terms: RunTerms,
  services: Services,
): Promise<{ readonly order: RunOrder; readonly started: StartReply } | { readonly found: Run }> {
  const start = async (onlyNewThread: boolean) => {
    const order = await toOrder(request, onlyNewThread, services);
    if ('found' in order) return order;
    const starts = { granularity: 'full', terms, onlyNewThread } as const;
    return { order, started: await startRun({ ...request, input: order }, starts, services) };
  };
  if (!beginsThread(request.input)) return start(false);
  try {
    return await start(true);
  } catch (error) {
    if (!isThreadThere(error)) throw error;
    return start(false);
  }
}

/** Follows the newest run of a thread, or goes on behind an event; what the thread held before comes first where its reader has nothing. */
const connect = endpoint({
  name: 'aguiConnect',
  method: 'POST',
  path: '/agui/{agent}/connect',
  isRead: true,
  answer: 'events',
  access: stream,
  // It begins with what the thread held before.
  alsoAccess: () => ({ resource: 'checkpointer', action: 'read' }),
  params: AgentParams,
  input: ThreadInput,
  takesLastEventId: true,
  handle: async (request, services): Promise<RunStream> => {
    await requireAgent(request, services);
    const { owner, input, call, lastEventId } = request;
    const { threadId } = input;
    const place = lastEventId === undefined ? undefined : placeIn(lastEventId);
    if (lastEventId !== undefined && !place)
      throw invalidAt(['header', 'Last-Event-ID'], 'must be the id of an event of this thread');
    const runId = place?.runId ?? (await services.threads.getThread({ owner, threadId }, call())).runId;
    const known =
      runId === undefined ? undefined : await undefinedIfNotFound(services.threads.getRun({ owner, runId }, call()));
    // For another agent than that of the path the caller may not be authorized.
    if (known?.threadId !== threadId || known.agent !== request.params.agent)
      throw notFound(`thread "${threadId}" has no such run of this agent`);
    const from = place && (known.end ? await beforeEnd(request, known, place, services) : place);
    return {
      follow: { owner, runId: known.runId, after: from?.after ?? 0 },
      call: call(streamMs),
      extras: inEvents(
        { owner, runId: known.runId, agent: known.agent, shown: place?.shown ?? 'm', place: from },
        services,
      ),
    };
  },
});

/** The place of a reader in a run that has ended. Who is behind its end, as of a log that was made again and is shorter, gets the end. */
async function beforeEnd(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  { runId, threadId }: Pick<Run, 'runId' | 'threadId'>,
  place: FramePlace,
  services: Services,
): Promise<FramePlace> {
  const { seq } = await endOfRun({ owner, call, runId, threadId }, services);
  return place.after < seq ? place : { after: seq - 1, skipped: 0 };
}

/** Stops the newest run of a thread, or drops what the thread asks others: who leaves a stream does not. */
const stop = endpoint({
  name: 'aguiStop',
  method: 'POST',
  path: '/agui/{agent}/stop',
  answer: 'bare',
  access: { resource: 'graph', action: 'stop' },
  params: AgentParams,
  input: ThreadInput,
  handle: async (request, services) => {
    await requireAgent(request, services);
    const { owner, input, params, call, idempotency } = request;
    const { threadId } = input;
    const { askedBy, runId = askedBy, agent } = await services.threads.getThread({ owner, threadId }, call());
    // For another agent than that of the path the caller may not be authorized.
    if (runId === undefined || agent !== params.agent)
      throw notFound(`thread "${threadId}" has no such run of this agent`);
    const stop = { owner, runId: askedBy ?? runId, threadId, ...idempotency };
    const { stoppedNow, droppedQuestions = [] } = await services.execution.stopRun(stop, call());
    const dropped = droppedQuestions.length > 0 && { droppedQuestions };
    return JSON.stringify({ stopped: stoppedNow || dropped !== false, ...dropped });
  },
});

export const rows = [run, connect, stop];
