import { sizes } from '@agent-workflow/kit/sizes';
import { eventKinds } from '@agent-workflow/protos/event-parts';
import { endStatuses, granularities, multitaskStrategies } from '@agent-workflow/protos/lists';
import { Type, type Static } from 'typebox';
import { BodyId, JsonObject, objectOf, Json, ResponseMetadata, words } from './common.ts';
import { Message, RunMessages } from './messages.ts';

/** `config` of a run. The service reads these fields; nodes see all fields. */
const RunConfig = objectOf('RunConfig', {
  thread_id: Type.Optional(BodyId),
  thread_name: Type.Optional(Type.String({ maxLength: 1024 })),
  metadata: Type.Optional(JsonObject),
  multitask_strategy: Type.Optional(words(multitaskStrategies, { default: 'enqueue' })),
  on_disconnect: Type.Optional(words(['continue', 'cancel'], { default: 'continue' })),
});

/** A tool that the caller runs. */
const Tool = objectOf('RemoteTool', {
  node_name: Type.Optional(Type.String()),
  name: Type.String({ minLength: 1, maxLength: 256 }),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(JsonObject),
});

const Tools = Type.Array(Tool, { maxItems: sizes.tools });

/** The tools that the caller runs, for all its later runs. */
export const SetupInput = objectOf('SetupRequest', { tools: Tools });
export const SetUp = objectOf('SetUp', {
  success: Type.Boolean(),
  message: Type.String(),
  registered_tools: Type.Integer(),
  tools: Type.Array(Type.String()),
});

/** The body of invoke and stream. */
export const RunInput = objectOf('RunRequest', {
  messages: RunMessages,
  initial_state: Type.Optional(JsonObject),
  config: Type.Optional(RunConfig),
  recursion_limit: Type.Integer({ minimum: 1, maximum: 1000, default: 25 }),
  response_granularity: Type.Optional(
    words(granularities, {
      description:
        'What the events and the result show: `low` the messages, `partial` also the state and its context, `full` also the ' +
        'summary. Without it `/v1/graph/invoke` is `full`; `/v1/graph/stream` and `/v1/runs` are `low`',
    }),
  ),
  tools: Type.Optional(Tools),
  /** The answers to the open interrupts of the thread's interrupted run. */
  resume: Type.Optional(Json),
});
export type RunInput = Static<typeof RunInput>;

export const GraphReply = objectOf('Graph', {
  graph: Json,
  info: objectOf('GraphInfo', {
    node_count: Type.Integer(),
    edge_count: Type.Integer(),
    checkpointer: Type.Boolean(),
    checkpointer_type: Type.String(),
    publisher: Type.Boolean(),
    store: Type.Boolean(),
    interrupt_before: Type.Array(Type.String()),
    interrupt_after: Type.Array(Type.String()),
    context_type: Type.String(),
    id_generator: Type.String(),
    id_type: Type.String(),
    state_type: Type.String(),
    state_fields: Type.Array(Type.String()),
  }),
  nodes: Type.Array(objectOf('GraphNode', { id: Type.String(), name: Type.String(), type: Type.String() })),
  edges: Type.Array(
    objectOf('GraphEdge', {
      id: Type.String(),
      source: Type.String(),
      target: Type.String(),
      conditional: Type.Boolean(),
    }),
  ),
});

export const StateSchema = objectOf('StateSchema', {
  fields: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: objectOf('FieldSchema', {
      type: Type.String(),
      description: Type.Optional(Type.String()),
      default: Type.Optional(Json),
      required: Type.Optional(Type.Boolean()),
    }),
  }),
  type: words(['object']),
  properties: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: JsonObject }),
  required: Type.Array(Type.String()),
});

export const InvokeResult = objectOf('InvokeResult', {
  messages: Type.Array(Message),
  all_messages: Type.Array(Message),
  all_messages_truncated: Type.Optional(
    Type.Boolean({ description: 'Set when `all_messages` carries only the newest, as many as fit' }),
  ),
  state: Type.Optional(JsonObject),
  context: Type.Optional(Json),
  summary: Type.Optional(Type.String()),
  iterations: Type.Integer({ minimum: 0 }),
  recursion_limit_reached: Type.Boolean(),
  metadata: ResponseMetadata,
  meta: Type.Object({
    thread_id: Type.String(),
    run_id: Type.String(),
    is_new_thread: Type.Boolean(),
    status: words(endStatuses),
    resumes: Type.Optional(Type.String()),
    interrupts: Type.Optional(
      Type.Array(objectOf('Interrupt', { id: Type.String(), node: Type.String(), value: Json })),
    ),
  }),
});

export const StreamChunk = objectOf('StreamChunk', {
  event: words(eventKinds),
  data: Json,
  thread_id: Type.String(),
  run_id: Type.String(),
  message: Type.Optional(Message),
  state: Type.Optional(JsonObject),
  metadata: JsonObject,
  timestamp: Type.String({ format: 'date-time' }),
});
