import { isServiceError } from '@agent-workflow/kit/errors';
import { idFault } from '@agent-workflow/protos/message';
import { isOpen } from '@agent-workflow/protos/lists';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest, RunStream } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { messageKeyed } from '../../../idempotency/index.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { endOfRun, type AwaitedRun } from '../../common/run-end.ts';
import type { RunOrder } from '../../common/run-order.ts';
import { endpoint, type Services } from '../../common/services.ts';
import { startRun } from '../../common/start-run.ts';
import { digestOf, keptDigest, shortOf, toKept } from '../in/kept-message.ts';
import { endedTask } from '../out/ended-task.ts';
import { newTask, type AskedBy } from '../out/task.ts';
import { answersOf, contextOf } from '../in/place.ts';
import { toBlocks } from '../messages/from-parts.ts';
import { AgentParams } from '../schemas/common.ts';
import { SendMessage } from '../schemas/messages.ts';
import { requireAgent } from './agent.ts';
import { inResponses, streamMs } from './followed.ts';
import { storeParts } from './files.ts';
import { changePushes, toConfig, withConfig } from './pushes.ts';
import { readTask, runsOfTask } from './read-task.ts';

type Request = EndpointRequest<{ readonly agent: string }, SendMessage>;

/** Most runs of a short graph end within this time, in milliseconds, and take one call less. */
const awaitEndMs = 200;

/** How often one node may run; as `/v1` has it. */
const recursionLimit = 25;

const sendMessage = endpoint({
  name: 'a2aSendMessage',
  method: 'POST',
  path: '/a2a/{agent}/message:send',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  params: AgentParams,
  input: SendMessage,
  handle: async (request, services) => {
    const { owner, call, params, origin } = request;
    const { returnImmediately = false, historyLength } = request.input.configuration ?? {};
    const { taskId, isFirst, askedBy, ...run } = await begin(
      request,
      services,
      returnImmediately ? undefined : awaitEndMs,
    );
    const end = returnImmediately ? undefined : await endOrLate({ owner, call, ...run }, services);
    if (end && isFirst && askedBy) {
      const shown = { askedBy, historyLength, addressOf: addressesOf({ owner, origin }, services) };
      const task = endedTask({ taskId, contextId: run.threadId, end, ...shown });
      if (task) return JSON.stringify({ task });
    }
    const runs = await runsOfTask({ owner, call }, { taskId, agent: params.agent }, services);
    return JSON.stringify({ task: await readTask({ owner, call, origin }, runs, { historyLength }, services) });
  },
});

/** The last event of a run; `undefined` where it has not ended for as long as a reply may take: it goes on then, and the task says so. */
const endOrLate = (run: AwaitedRun, services: Services): Promise<RunEvent | undefined> =>
  endOfRun(run, services).catch((error: unknown) => {
    if (!isServiceError(error, 'Timeout')) throw error;
    return undefined;
  });

const streamMessage = endpoint({
  name: 'a2aStreamMessage',
  method: 'POST',
  path: '/a2a/{agent}/message:stream',
  startsRun: true,
  answer: 'events',
  access: { resource: 'graph', action: 'stream' },
  params: AgentParams,
  input: SendMessage,
  handle: async (request, services): Promise<RunStream> => {
    const { owner, call, rpc, params, origin } = request;
    const { runId, taskId, threadId, justStarted, isFirst, askedBy, at } = await begin(request, services);
    const known = isFirst ? newTask({ taskId, contextId: threadId, at, askedBy }) : undefined;
    return {
      follow: { owner, runId, after: 0, justStarted },
      call: call(streamMs),
      extras: inResponses({ owner, origin, runId, taskId, agent: params.agent, rpc, isFirst: true, known }, services),
    };
  },
});

interface Begun extends Pick<AwaitedRun, 'runId' | 'threadId' | 'end'> {
  readonly taskId: string;
  /** Whether the run is the first of its task, and this request has started it. */
  readonly isFirst: boolean;
  /** When it was accepted, where this request has started it. */
  readonly at: Date;
  /** The message, unless it is long. */
  readonly askedBy?: AskedBy | undefined;
  /** Not set of a run that has ended, as that of a repeated request may have. */
  readonly justStarted: boolean;
}

/** Starts the run that a message asks for. The same message again is the run that there is. @throws Invalid for another one with its id */
async function begin(given: Request, services: Services, awaitMs?: number): Promise<Begun> {
  await requireAgent(given, services);
  const { message } = given.input;
  if (given.input.tenant) throw invalidAt(['body', 'tenant'], 'must be absent: an agent has no tenants here');
  const { agent } = given.params;
  const { taskId: answered = '' } = message;
  const request = messageKeyed(given, ['a2a', agent, message.contextId ?? '', answered, message.messageId]);
  const runId = request.newId('run');
  const before = answered === '' ? undefined : await runsOfTask(given, { taskId: answered, agent }, services);
  const taskId = before?.[0].runId ?? runId;
  const known = before?.find((run) => run.runId === runId);
  if (known) await refuseOther(request, runId, services);
  if (known) return { runId, taskId, threadId: known.threadId, justStarted: false, isFirst: false, at: given.at };
  const parts = before
    ? message.parts
    : await storeParts(request, message.parts, ['body', 'message', 'parts'], services);
  // Ids of the protocol may hold what those of messages may not.
  const stored = idFault(message.messageId) ? request.newId('message') : message.messageId;
  const input = toOrder(request, { parts, before, stored });
  await addPush(request, { taskId, runId }, services);
  const { status, threadId, end, existed, createdAt } = await startRun(
    { ...request, input },
    { granularity: 'full', terms: { keptRequest: toKept(message, before ? undefined : stored) }, awaitEndMs: awaitMs },
    services,
  );
  if (existed) await refuseOther(request, runId, services);
  const askedBy = shortOf(message);
  given.releaseInput();
  await given.markAccepted();
  const isFirst = !before && existed !== true;
  const at = createdAt === undefined ? given.at : new Date(createdAt);
  return { runId, taskId, threadId, justStarted: isOpen(status), isFirst, at, askedBy, ...(end && { end }) };
}

/** Refuses a message whose id an earlier one with other parts has had, which has begun this run. @throws Invalid */
async function refuseOther(
  { owner, call, input }: Pick<Request, 'owner' | 'call' | 'input'>,
  runId: string,
  { threads }: Pick<Services, 'threads'>,
): Promise<void> {
  const { requests } = await threads.listRunRequests({ owner, runIds: [runId] }, call());
  const json = requests[0]?.requestJson;
  const digest = json === undefined ? undefined : keptDigest(jsonText(json));
  if (digest === undefined || digest === digestOf(input.message)) return;
  throw invalidAt(['body', 'message', 'messageId'], 'was used with other parts: another message needs another id');
}

/** Adds the address that a message gives for the states of its task. */
async function addPush(
  request: Request,
  { taskId, runId }: Pick<Begun, 'taskId' | 'runId'>,
  services: Services,
): Promise<void> {
  const given = request.input.configuration?.taskPushNotificationConfig;
  if (!given) return;
  await refuseOther(request, runId, services);
  const loc = ['body', 'configuration', 'taskPushNotificationConfig'];
  const config = await toConfig(request, given, loc, services);
  await changePushes(request, taskId, withConfig(config, loc), services);
}

interface Given {
  readonly parts: Parameters<typeof toBlocks>[0];
  /** The runs of the task that it goes on with. */
  readonly before: readonly Run[] | undefined;
  /** The id of the message in its thread. */
  readonly stored: string;
}

/** The run that a message asks for: the next of its task, or the first of one. @throws Invalid, UnsupportedOperation */
function toOrder({ input, params }: Request, { parts, before, stored }: Given): RunOrder {
  const { message, configuration = {}, metadata } = input;
  const last = before?.at(-1);
  const contextId = contextOf(message);
  if (last && contextId !== undefined && contextId !== last.threadId)
    throw invalidAt(['body', 'message', 'contextId'], 'must be that of the task, or absent');
  const threadId = last?.threadId ?? contextId;
  const { acceptedOutputModes: accepted = [] } = configuration;
  const { referenceTaskIds: references = [] } = message;
  const own = {
    ...(accepted.length > 0 && { accepted_output_modes: accepted }),
    ...(references.length > 0 && { reference_task_ids: references }),
    ...(metadata && { metadata }),
  };
  return {
    ...(last
      ? { resume: answersOf(last, message) }
      : {
          messages: [
            {
              ...{ message_id: stored, role: 'user', content: toBlocks(parts, ['body', 'message', 'parts']) },
              ...(message.metadata && { metadata: message.metadata }),
            },
          ],
        }),
    recursion_limit: recursionLimit,
    config: {
      agent: params.agent,
      ...(threadId !== undefined && { thread_id: threadId }),
      ...(Object.keys(own).length > 0 && { a2a: own }),
    },
  };
}

export const messageRows = [sendMessage, streamMessage];
