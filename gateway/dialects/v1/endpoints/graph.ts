import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { shownFields } from '@agent-workflow/protos/hidden-fields';
import type { StartReply } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import { idText } from '@agent-workflow/protos/message';
import type { IdempotencyCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonObject, jsonText, jsonBytes } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import * as examples from '../examples/graph.ts';
import {
  GraphQuery,
  GraphReply,
  StateSchema,
  InvokeResult,
  RunInput,
  StreamChunk,
  StreamInput,
  SetUp,
  SetupInput,
} from '../schemas/graph.ts';
import { StopInput, StoppedThread, FixedThread } from '../schemas/runs.ts';
import { endpoint } from './common/endpoint.ts';
import { agentOf } from '../../common/named-agent.ts';
import { resultOfRun } from './run-result.ts';
import { keeping, streamMs, stoppedText, toReceipt, type Stopping } from './runs.ts';
import { accessOfCompletion, stopOnDisconnect, startRun, boundedTools, toRemoteTool } from '../../common/start-run.ts';
import { readState } from './state.ts';
import { accessOfModes, streamExtras } from './stream-modes.ts';

/** The thread that a body names: `thread_id`, else `config.thread_id`. */
function threadOf(input: Static<typeof StopInput>): string {
  const named = input.thread_id ?? input.config?.thread_id;
  if (named === undefined) throw invalidAt(['body', 'thread_id'], 'is required', 'missing');
  return idText(named);
}

/** The fields of a graph, also as one JSON Schema, as JSON text of a reply. */
export function schemaReply(fieldsJson: Uint8Array): string {
  const fields = shownFields(JSON.parse(jsonText(fieldsJson)) as Fields);
  const schema = toJsonSchema(fields);
  return `${jsonObject({ fields: JSON.stringify(fields) }).slice(0, -1)},${JSON.stringify(schema).slice(1)}`;
}

interface Field extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly schema?: object;
}
type Fields = Readonly<Record<string, Field>>;

/** A field that takes any value has no type in JSON Schema. */
function toJsonSchema(fields: Fields): object {
  const entries = Object.entries(fields);
  const properties = Object.fromEntries(
    entries.map(([name, { required: _required, type, schema = {}, ...field }]) => [
      name,
      { ...(isMovable(schema) && schema), ...(type !== 'any' && { type }), ...field },
    ]),
  );
  const required = entries.filter(([, field]) => field['required'] === true).map(([name]) => name);
  return { type: 'object', properties, required };
}

/** A reference leads through the schema that it stands in, and would lead nowhere from inside another. */
const isMovable = (schema: object): boolean => !JSON.stringify(schema).includes('"$ref"');

/** The graph: nodes, edges and a drawing; `info`, `nodes` and `edges` are in the shape that the reference client reads. */
export const getGraph = endpoint({
  name: 'getGraph',
  tag: 'graph',
  summary: 'Get the graph: nodes, edges and a drawing',
  description:
    'The nodes and edges of an agent, and the same as a drawing in Mermaid. 404 when there is no such agent.',
  example: examples.getGraph,
  method: 'GET',
  path: '/v1/graph',
  isOfAgent: true,
  access: { resource: 'graph', action: 'read' },
  input: GraphQuery,
  reply: GraphReply,
  handle: async ({ input, call }, { execution }) => {
    const { graphJson, fieldsJson } = await execution.getGraph(input, call());
    const { nodes, edges, mermaid } = JSON.parse(jsonText(graphJson)) as Drawing;
    const shown = toClientGraph({ nodes, edges }, JSON.parse(jsonText(fieldsJson)) as object);
    return `${jsonObject({ graph: JSON.stringify({ nodes, edges, mermaid }) }).slice(0, -1)},${JSON.stringify(shown).slice(1)}`;
  },
});

interface Drawing extends Lines {
  readonly mermaid: string;
}

interface Lines {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional: boolean }[];
}

/** Nodes with names, edges with ids, and the facts about the graph that the reference client shows. */
const toClientGraph = ({ nodes, edges }: Lines, fields: object): object => ({
  info: {
    node_count: nodes.length,
    edge_count: edges.length,
    checkpointer: true,
    checkpointer_type: 'threads',
    publisher: false,
    store: true,
    interrupt_before: [],
    interrupt_after: [],
    context_type: 'messages',
    id_generator: 'uuid7',
    id_type: 'string',
    state_type: 'object',
    state_fields: Object.keys(fields),
  },
  nodes: nodes.map((node) => ({ ...node, name: node.id })),
  edges: edges.map((edge, index) => ({ id: `edge-${String(index + 1)}`, ...edge })),
});

/** The fields of the graph's state; also as one JSON Schema. */
export const getStateSchema = endpoint({
  name: 'getStateSchema',
  tag: 'graph',
  summary: 'Get the fields of the state',
  description:
    'Each field of the state of a thread with its type, default, description and the JSON Schema of its values, also as one JSON Schema. 404 when there is no such agent.',
  example: examples.getStateSchema,
  method: 'GET',
  path: '/v1/graph:StateSchema',
  isOfAgent: true,
  access: { resource: 'graph', action: 'read' },
  input: GraphQuery,
  reply: StateSchema,
  handle: async ({ input, call }, { execution }) => schemaReply((await execution.getGraph(input, call())).fieldsJson),
});

/** Starts a run, waits for its end and gives the result. */
export const invokeGraph = endpoint({
  name: 'invokeGraph',
  tag: 'graph',
  summary: 'Run the graph and get its result',
  description:
    'Starts a run, waits for its end and gives the result. A run that does not end within `INVOKE_TIMEOUT_MS` (default 5 minutes) is 504 and goes on. The run also goes on when the caller disconnects, unless `config.on_disconnect` is `cancel`. A run that ends as `interrupted` asks for something: answer its tool calls by a message of role `tool`, or its questions by `resume`, on the same thread.',
  example: examples.invokeGraph,
  method: 'POST',
  path: '/v1/graph/invoke',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  alsoAccess: accessOfCompletion,
  input: RunInput,
  reply: InvokeResult,
  handle: async (request, services) => {
    const { owner, call } = request;
    const { runId, threadId, status, end } = await start(request, services);
    stopOnDisconnect(request, runId, services);
    request.releaseInput();
    const result = resultOfRun({ owner, runId, threadId, justStarted: isOpen(status), end, call }, services);
    // The reply to a run that has ended is stored next, which says it too.
    const [reply] = await Promise.all([result, end ? undefined : request.markAccepted()]);
    return reply;
  },
});

/** A function of its own, so that the messages of the request can be freed while the run is waited for. */
const start = (request: EndpointRequest<unknown, RunInput>, services: Services): Promise<StartReply> =>
  // A caller that disconnects meanwhile would not be seen to stop the run.
  startRun(
    request,
    { granularity: 'full', awaitEndMs: request.input.config?.on_disconnect === 'cancel' ? undefined : awaitEndMs },
    services,
  );

/** Most runs of a short graph end within this time, in milliseconds, and take one call less. */
const awaitEndMs = 200;

/** Starts a run and follows it from its first event. A disconnect of the caller does not end the run, unless `on_disconnect` is `cancel`. */
export const streamGraph = endpoint({
  name: 'streamGraph',
  tag: 'graph',
  summary: 'Run the graph and follow it as it runs',
  description:
    'Starts a run and sends its events from the first one. Server-sent events, or with `Accept: application/x-ndjson` one JSON object a line. `on_chain_end` or `error` is the last event; a stream that ends without either was cut, and `GET /v1/runs/{run_id}/stream` continues it after the last event that was seen.',
  example: examples.streamGraph,
  method: 'POST',
  path: '/v1/graph/stream',
  startsRun: true,
  answer: 'events',
  access: { resource: 'graph', action: 'stream' },
  alsoAccess: (input: StreamInput) => [...accessOfModes(input), ...accessOfCompletion(input)],
  input: StreamInput,
  reply: StreamChunk,
  handle: async (request, services) => {
    const { owner, input } = request;
    const { stream_modes: modes } = input;
    const { runId, status } = await startRun(request, { granularity: 'low' }, services);
    stopOnDisconnect(request, runId, services);
    request.releaseInput();
    await request.markAccepted();
    return {
      follow: { owner, runId, after: 0, justStarted: isOpen(status) },
      call: request.call(streamMs),
      extras: streamExtras(services, { owner, runId, modes }),
    };
  },
});

/** Stops the running run of a thread, if there is one. */
export const stopThread = endpoint({
  name: 'stopThread',
  tag: 'runs',
  summary: 'Stop the run of a thread at once',
  description:
    'Stops the run of a thread at once, also in the middle of a node. The steps that were committed stay. Without a run under way the reply is `idle`; the questions of a thread that waits for an answer have no deadline from then on, and those to others are dropped (`dropped_questions`).',
  example: examples.stopThread,
  method: 'POST',
  path: '/v1/graph/stop',
  access: { resource: 'graph', action: 'stop' },
  input: StopInput,
  reply: StoppedThread,
  handle: async (request, { execution, threads }) => {
    const { owner, input, call, idempotency } = request;
    const threadId = threadOf(input);
    const runId = await runToStop(request, threads);
    if (runId === undefined) return idleText(threadId, input);
    const stopped = await undefinedIfNotFound(
      execution.stopRun({ owner, runId, threadId, ...idempotency, ...keeping(input) }, call()),
    );
    // The thread was deleted in the meantime, which ended the run; or it waits for an answer of its owner, and goes on waiting.
    if (!stopped || (stopped.status === 'interrupted' && !stopped.droppedQuestions?.length))
      return idleText(threadId, input);
    // A fork waits with what a run of another thread has asked.
    const run = stopped.stoppedNow ? undefined : await undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
    const isOwn = stopped.stoppedNow || run?.threadId === threadId;
    return JSON.stringify({
      ...stoppedText(stopped, { thread_id: threadId, run_id: isOwn ? runId : null }),
      ...toReceipt(input, stopped.partial),
    });
  },
});

/** The running run of the thread, or the one that waits for an answer, whose deadline ends; for a repeated idempotent request, the one that was running at the first attempt. */
async function runToStop(
  request: EndpointRequest<unknown, Static<typeof StopInput>>,
  threads: ThreadReadCalls & IdempotencyCalls,
): Promise<string | undefined> {
  const { owner, input, call, idempotency, newId } = request;
  const thread = await threads.getThread({ owner, threadId: threadOf(input) }, call());
  const runId = thread.activeRunId ?? thread.askedBy;
  if (idempotency.onceKey === undefined) return runId;
  const record = { owner, onceKey: newId('run to stop'), bodyHash: '', replyJson: jsonBytes({ runId }) };
  const { isNew, replyJson } = await threads.beginOnce(record, call());
  if (isNew || !replyJson) return runId;
  return (JSON.parse(jsonText(replyJson)) as { runId?: string }).runId;
}

const idleText = (threadId: string, input: Stopping): string =>
  JSON.stringify({
    ...{ success: false, thread_id: threadId, run_id: null, status: 'idle', message: 'nothing is running' },
    ...toReceipt(input, undefined),
  });

/** Declares the tools that the caller runs, for all runs that the owner starts within a day; replaces the list before. */
export const setUpTools = endpoint({
  name: 'setUpTools',
  tag: 'graph',
  summary: 'Declare tools that the caller runs, for the runs of a day',
  description:
    'Declares tools that the caller runs, for all runs that the same owner starts within 24 hours. Replaces the list that was set up before; an empty list removes it. Runs that have started keep their tools.',
  example: examples.setUpTools,
  method: 'POST',
  path: '/v1/graph/setup',
  isOfAgent: true,
  access: { resource: 'graph', action: 'invoke' },
  input: SetupInput,
  reply: SetUp,
  handle: async ({ input, owner, call }, { execution, tools: toolStore }) => {
    const tools = boundedTools(input.tools.map(toRemoteTool));
    await execution.checkTools({ tools, ...agentOf(input.config ?? {}) }, call());
    await toolStore.put(owner, tools);
    const message = `${String(tools.length)} ${tools.length === 1 ? 'tool' : 'tools'} set up`;
    return JSON.stringify({
      success: true,
      message,
      registered_tools: tools.length,
      tools: tools.map(({ name }) => name),
    });
  },
});

/** Removes messages whose tool calls were never answered, so that the conversation can go on; gives the state after that. */
export const fixThread = endpoint({
  name: 'fixThread',
  tag: 'threads',
  summary: 'Remove messages whose tool calls nobody answered',
  description:
    'Removes messages of the assistant whose tool calls nobody answered, with the answers that they have, so that the conversation can go on.',
  example: examples.fixThread,
  method: 'POST',
  path: '/v1/graph/fix',
  access: { resource: 'checkpointer', action: 'write' },
  input: StopInput,
  reply: FixedThread,
  handle: async (request, services) => {
    const { owner, input, idempotency, call } = request;
    const threadId = threadOf(input);
    const { removedCount } = await services.threads.fixThread({ owner, threadId, ...idempotency }, call());
    const state = await readState(request, threadId, services);
    const removed = `${String(removedCount)} ${removedCount === 1 ? 'message' : 'messages'} without answers removed`;
    const message = removedCount === 0 ? 'nothing was broken' : removed;
    return `{"success":true,"message":${JSON.stringify(message)},"removed_count":${String(removedCount)},${state.slice(1)}`;
  },
});
