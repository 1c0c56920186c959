import { sizes } from '@agent-workflow/kit/sizes';
import { eventKinds } from '@agent-workflow/protos/event-parts';
import {
  endStatuses,
  granularities,
  multitaskStrategies,
  revisionStates,
  type RevisionState,
} from '@agent-workflow/protos/lists';
import type { Static } from 'typebox';
import {
  BodyId,
  count,
  described,
  flag,
  givenTime,
  Id,
  JsonObject,
  nullable,
  objectOf,
  oneOfNeeded,
  openObjectOf,
  Json,
  runId,
  text,
  threadId,
  time,
  ttl,
  words,
} from './common.ts';
import { eventMeanings, StreamModes } from './events.ts';
import { extraKinds } from '../../../http/framing.ts';
import { Message, RunMessages } from './messages.ts';
import { runStatusMeanings } from './runs.ts';
import { Usage } from './usage.ts';
import { RunWebhook } from './webhooks.ts';
import { Type } from '../../common/builders.ts';

/** A JSON Schema, of an object: models call tools with nothing else. */
const Parameters = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  properties: { type: { enum: ['object'], description: 'Default: `object`' } },
  additionalProperties: true,
});

/** A tool that the caller runs. */
const Tool = objectOf('RemoteTool', 'A tool that the caller runs, as a browser that knows its place.', {
  node_name: Type.Optional(text('The node that calls it. Default: any node with tools')),
  name: Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'The name by which the model calls it, 1 to 256 characters; no tool of the service may have it',
  }),
  description: Type.Optional(text('What the tool does, for the model. Default: empty')),
  parameters: Type.Optional(
    described(
      Parameters,
      'The JSON Schema of its arguments, which are an object. Default: an object without properties',
    ),
  ),
});
type Tool = Static<typeof Tool>;

/** A tool of `config.remote_tools`: as in `tools`, or as the APIs of models take it. */
const ConfigTool = Type.Unsafe<Tool | { readonly function: Tool }>(
  oneOfNeeded(
    objectOf(
      'ConfigTool',
      'A tool that the caller runs: its fields, or `function` with these, as the APIs of models take it.',
      {
        node_name: Tool.properties.node_name,
        name: Type.Optional(Tool.properties.name),
        description: Tool.properties.description,
        parameters: Tool.properties.parameters,
        type: Type.Optional(
          words(['function'], { description: 'What the tool is', meanings: { function: 'a function' } }),
        ),
        function: Type.Optional(described(Tool, 'The tool, in place of the fields beside this one')),
      },
    ),
    [
      { required: ['name'], properties: { name: { type: 'string', description: 'The name' } } },
      { required: ['function'], properties: { function: { type: 'object', description: 'The tool' } } },
    ],
  ),
);

/** `config` of a run. The service reads these fields; nodes see all fields. */
export const RunConfig = openObjectOf(
  'RunConfig',
  'Where and how a run goes. The service reads these fields; the nodes of the graph see all fields. At most 256 KiB.',
  {
    thread_id: Type.Optional(
      described(
        BodyId,
        'The thread. One that does not exist is made under this id. Absent: a new thread with an id of its own',
      ),
    ),
    agent: Type.Optional(
      described(
        Json,
        'The name of the agent, where the service has several: see `GET /v1/agents`. Absent: the agent of the thread; for a new thread the default. A thread belongs to the agent of its first run, and another one is 409. A service with a single agent leaves it to the nodes',
      ),
    ),
    checkpoint_id: Type.Optional(
      described(
        BodyId,
        'The checkpoint of the thread that the run starts from: the thread is brought back to it as by a restore, in the same change that accepts the run. Needs `thread_id`. 409 while a run of the thread is under way, and when more has changed since than one change holds',
      ),
    ),
    assistant_id: Type.Optional(
      described(
        BodyId,
        'The assistant whose agent, config and context the run has: what the request itself gives stands over them. Nodes see it with `assistant_version`',
      ),
    ),
    thread_name: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'The name of a thread that this request makes; at most 1,024 characters',
      }),
    ),
    metadata: Type.Optional(
      described(
        JsonObject,
        'The metadata of a thread that this request makes; at most 256 KiB. Lists of threads search in it.',
      ),
    ),
    ttl: Type.Optional(
      described(
        nullable(ttl('How long a thread that this request makes is kept after its last change')),
        'How long a thread that this request makes is kept after its last change, in seconds, a minute to ten years; `null` and without it as the service is set',
      ),
    ),
    multitask_strategy: Type.Optional(
      words(multitaskStrategies, {
        default: 'enqueue',
        description: 'What happens when the thread has a run that has not ended',
        meanings: {
          enqueue: 'the new run waits for it',
          reject: 'the request is 409',
          interrupt: 'that run is stopped, its steps stay',
          rollback:
            'that run is stopped, and the thread is restored to where the run found it; what its tools did outside is not undone',
        },
      }),
    ),
    remote_tools: Type.Optional(
      Type.Array(ConfigTool, {
        maxItems: sizes.tools,
        description:
          'Tools that the caller runs, as other servers of graphs take them: as if they stood in `tools`, behind those that stand there. One with the name of one of those is left out',
      }),
    ),
    on_completion: Type.Optional(
      words(['keep', 'delete'], {
        default: 'keep',
        description:
          'What happens to the thread when the run has ended. `delete` of a thread that is named needs the right to delete threads',
        meanings: {
          keep: 'it stays',
          delete:
            'a minute or two later it is deleted with its runs, unless the run was interrupted, or a later run has the thread',
        },
      }),
    ),
    on_disconnect: Type.Optional(
      words(['continue', 'cancel'], {
        default: 'continue',
        description: 'What happens to the run when the caller of invoke or stream disconnects',
        meanings: { continue: 'it goes on', cancel: 'it is stopped' },
      }),
    ),
  },
);

const Tools = Type.Array(Tool, {
  maxItems: sizes.tools,
  description: 'Tools that the caller runs: at most 256, together at most 1 MiB',
});

/** The tools that the caller runs, for all its later runs. */
export const SetupInput = objectOf('SetupRequest', 'The tools that the caller runs, for its runs of a day.', {
  tools: Tools,
  config: Type.Optional(
    described(
      objectOf('SetupConfig', 'Names the agent. Further fields are ignored.', {
        agent: Type.Optional(described(Json, 'The agent whose tools these must not be; absent: the default')),
      }),
      'For which agent the tools are checked',
    ),
  ),
});
export const SetUp = objectOf('SetUp', 'The tools that are set up.', {
  success: flag('Always `true`'),
  message: text('What happened, for people'),
  registered_tools: count('How many tools are set up'),
  tools: Type.Array(text('The name of a tool'), { description: 'Their names' }),
});

const breakpoints = (when: 'before' | 'after') =>
  Type.Unsafe<string | readonly string[]>({
    type: ['string', 'array'],
    items: { type: 'string', minLength: 1, maxLength: 256, description: 'The name of a node' },
    maxItems: sizes.tools,
    description: `Nodes ${when} which the run stops as \`interrupted\`, or \`*\` for every node; at most 256, together with the others at most 64 KiB. Any \`resume\` lets the thread go on from there. They hold for this run alone`,
  });

/** The body of invoke and stream. */
const RunFields = objectOf('RunRequest', 'What the agent is to do, on which thread.', {
  messages: Type.Optional(RunMessages),
  initial_state: Type.Optional(
    described(
      JsonObject,
      'Fields of the state that are set before the run starts, through their reducers; at most 2 MiB. Without messages they alone start the run, as a new message would',
    ),
  ),
  config: Type.Optional(described(RunConfig, 'Where and how the run goes')),
  context: Type.Optional(
    described(JsonObject, 'What nodes see as `ctx.context`, over that of the assistant; together at most 512 KiB'),
  ),
  recursion_limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 25,
    description:
      'How often any one node may run. A run that needs more ends there, keeps what it has and says `recursion_limit_reached`.',
  }),
  response_granularity: Type.Optional(
    words(granularities, {
      description:
        'What the events and the result show. Without it `/v1/graph/invoke` is `full`; `/v1/graph/stream` and `/v1/runs` are `low`',
      meanings: { low: 'the messages', partial: 'also the state and its context', full: 'also the summary' },
    }),
  ),
  tools: Type.Optional(
    described(Tools, 'Tools that the caller runs, beside those that were set up: at most 256, together at most 1 MiB'),
  ),
  priority: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 9,
      description:
        'How early the run is taken among the waiting runs of its owner: 9 first, 0 last, which is the default. Runs of one thread keep their order, and other owners wait no longer for it',
    }),
  ),
  interrupt_before: Type.Optional(breakpoints('before')),
  interrupt_after: Type.Optional(breakpoints('after')),
  resume: Type.Optional(
    described(
      Json,
      'Answers to the open interrupts of the thread: an object of answers by interrupt id. With one open interrupt, any other value is its answer. At most 1 MiB; `null` is an answer.',
    ),
  ),
  webhook: Type.Optional(described(RunWebhook, 'Where the end of this run is told, beside the webhooks of the owner')),
});
export const RunInput = {
  ...RunFields,
  // No `anyOf`: a client that is generated from one sends `resume` as null always, which is an answer.
  allOf: [
    {
      if: { not: { anyOf: [{ required: ['resume'] }, { required: ['initial_state'] }] } },
      then: {
        required: ['messages'],
        properties: { messages: { minItems: 1, description: 'A message, or several' } },
      },
    },
  ],
};
export type RunInput = Static<typeof RunInput>;

/** The body of `POST /v1/graph/stream`. */
export const StreamInput = {
  ...objectOf('StreamRun', 'What the agent is to do, on which thread, and what is streamed of it.', {
    ...RunInput.properties,
    stream_modes: Type.Optional(StreamModes),
  }),
  allOf: RunInput.allOf,
};
export type StreamInput = Static<typeof StreamInput>;

/** The body of `POST /v1/runs`. */
export const CreateRunInput = {
  ...objectOf('CreateRun', 'What the agent is to do, on which thread, and when.', {
    ...RunInput.properties,
    start_at: Type.Optional(givenTime('When the run starts', 'at once')),
  }),
  allOf: RunInput.allOf,
};
export type CreateRunInput = Static<typeof CreateRunInput>;

/** Runs that one request starts. */
const mostRunsOfBatch = 100;

export const RunBatchInput = objectOf(
  'RunBatchRequest',
  'Runs to be started by one request, on threads of one agent.',
  {
    runs: Type.Array(described(CreateRunInput, 'What a request for this run alone would say'), {
      minItems: 1,
      maxItems: mostRunsOfBatch,
      description: `The runs, 1 to ${String(mostRunsOfBatch)}. Runs of one thread are accepted in this order`,
    }),
    config: Type.Optional(
      described(
        objectOf('RunBatchConfig', 'Names the agent. Further fields are ignored.', {
          agent: Type.Optional(
            described(Json, 'The agent of all these runs; absent: the default. A run that names another is 422'),
          ),
        }),
        'What all runs have in common',
      ),
    ),
  },
);
export type RunBatchInput = Static<typeof RunBatchInput>;

/** The agent and the revision that a path names. */
export const RevisionParams = Type.Object({
  agent: described(Id, 'The name of the agent'),
  revision: described(Id, 'The revision'),
});

/** The agent that a path names. */
export const AgentParams = Type.Object({ agent: described(Id, 'The name of the agent') });

export const GraphQuery = Type.Object({
  agent: Type.Optional(described(Id, 'The name of the agent, where the service has several; absent: the default')),
});

const revisionMeanings: Readonly<Record<RevisionState, string>> = {
  registered: 'is known and has served no run',
  current: 'serves new runs',
  ramping: 'serves the new runs of a share of the threads',
  draining: 'gets no new runs and serves those that it has',
  drained: 'gets no new runs, and has none that waits for a worker or is driven',
  retired: 'was taken out of use for good',
};

const agentFields = {
  name: text('The name of the agent, for `config.agent`'),
  description: described(nullable(Type.String()), 'What the agent does; `null` where the operator does not say'),
  is_default: flag('Whether it serves new threads whose first run names no agent'),
};

const ramping = objectOf('AgentRamping', 'A revision that serves a share of the threads.', {
  revision: text('The revision'),
  percent: described(
    Type.Number({ minimum: 0, maximum: 100 }),
    'Its share of the threads, in percent, with at most two decimals',
  ),
});

const routing = objectOf('AgentRouting', 'Which revisions of an agent serve new runs.', {
  version: count('Rises by one with every change'),
  current: described(
    nullable(Type.String()),
    'The revision that serves new runs; `null`: none, and any worker serves them',
  ),
  ramping: Type.Optional(described(ramping, 'A second revision; absent where there is none')),
});

const revision = objectOf('AgentRevision', 'One immutable build of an agent.', {
  revision: text('Its name'),
  state: words(revisionStates, { description: 'Which runs it serves', meanings: revisionMeanings }),
  percent: described(Type.Number(), 'The share of the threads whose new runs it serves, in percent'),
  registered_at: time('When it was registered'),
  open_runs: Type.Optional(
    count('Runs that wait for a worker of it or are driven, some seconds ago; absent where they are not counted'),
  ),
  workers: Type.Optional(
    count('Workers that hold it and were alive some seconds ago; absent where they are not known, or it is retired'),
  ),
});

/** Absent where the agent is not registered. */
const registeredFields = {
  routing: Type.Optional(described(routing, 'Where new runs go; absent where the agent has no revisions')),
  revisions: Type.Optional(
    Type.Array(revision, { description: 'The builds of the agent, the oldest first; absent where it has none' }),
  ),
};

export const AgentRegistration = objectOf('AgentRegistration', 'An agent as it is registered.', {
  name: text('The name of the agent'),
  routing: described(routing, 'Where new runs go'),
  revisions: Type.Array(revision, { description: 'The builds of the agent, the oldest first' }),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'What to know of this change: that runs wait for workers that are not there; absent where there is nothing',
    }),
  ),
});

const givenRevision = (description: string) => Type.String({ minLength: 1, maxLength: 128, description });

export const SetRoutingInput = objectOf('SetRoutingRequest', 'Which revisions are to serve new runs.', {
  version: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The version of the routing that is changed, as it was read; another one is 409',
  }),
  current: givenRevision('The revision that serves the threads that no other one does'),
  ramping: Type.Optional(
    described(
      nullable(
        objectOf('SetRamping', 'A revision that is to serve a share of the threads.', {
          revision: givenRevision('The revision'),
          percent: Type.Number({
            minimum: 0,
            maximum: 100,
            description: 'Its share of the threads, in percent, with at most two decimals',
          }),
        }),
      ),
      'A second revision; absent or `null` for none',
    ),
  ),
});

export const AgentList = objectOf('AgentList', 'The agents of the service.', {
  agents: Type.Array(
    objectOf('AgentItem', 'An agent as lists show it.', {
      ...agentFields,
      tools: Type.Array(text('The name of a tool'), { description: 'The names of its tools' }),
      ...registeredFields,
    }),
    { description: 'The default first, the others by name' },
  ),
});

export const GraphReply = objectOf('Graph', 'The graph of the agent.', {
  graph: described(
    Json,
    'The graph as it is drawn: `nodes` with `id` and `type`, `edges` with `source`, `target` and `conditional`',
  ),
  info: described(
    objectOf('GraphInfo', 'Facts about the graph, as the reference client shows them.', {
      node_count: count('How many nodes it has'),
      edge_count: count('How many edges it has'),
      checkpointer: flag('Whether threads keep their state; always `true`'),
      checkpointer_type: text('Always `threads`'),
      publisher: flag('Whether events are published elsewhere; always `false`'),
      store: flag('Whether there is a memory store; always `true`'),
      interrupt_before: Type.Array(text('The name of a node'), {
        description: 'Always empty: nodes ask by themselves',
      }),
      interrupt_after: Type.Array(text('The name of a node'), { description: 'Always empty: nodes ask by themselves' }),
      context_type: text('Always `messages`'),
      id_generator: text('How new ids are made: `uuid7`'),
      id_type: text('The type of ids: `string`'),
      state_type: text('The type of the state: `object`'),
      state_fields: Type.Array(text('The name of a field'), { description: 'The fields of the state' }),
    }),
    'Facts about the graph',
  ),
  nodes: Type.Array(
    objectOf('GraphNode', 'A node of the graph.', {
      id: text('The id of the node'),
      name: text('The name of the node, which is its id'),
      type: text('What the node is: `start`, `end`, `node`, `tools`, or `graph` for a sub-graph'),
    }),
    { description: 'The nodes' },
  ),
  edges: Type.Array(
    objectOf('GraphEdge', 'An edge of the graph.', {
      id: text('The id of the edge'),
      source: text('The node that it leaves'),
      target: text('The node that it leads to'),
      conditional: flag('Whether a route of the graph decides if it is taken'),
    }),
    { description: 'The edges' },
  ),
});

export const StateSchema = objectOf('StateSchema', 'The fields of the state.', {
  fields: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: 'Each field by its name',
    additionalProperties: objectOf('FieldSchema', 'A field of the state.', {
      type: text('Its JSON type, or `any`'),
      description: Type.Optional(text('What it holds; absent when the graph does not say')),
      default: Type.Optional(described(Json, 'Its value while nothing was stored; absent without one')),
      schema: Type.Optional(
        described(JsonObject, 'The JSON Schema that its values must match beside the type; absent without one'),
      ),
      required: Type.Optional(flag('Whether it must have a value; absent for no')),
      callers: Type.Optional(
        words(['read'], {
          description: 'What callers may do with it; absent: read and change it',
          meanings: { read: 'callers read it, and nodes alone change it' },
        }),
      ),
    }),
  }),
  type: words(['object'], {
    description: 'The state as one JSON Schema',
    meanings: { object: 'the state is an object' },
  }),
  properties: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: described(
      JsonObject,
      'The JSON Schema of a field; without that of its values where it holds a `$ref`',
    ),
    description: 'The fields as properties of that JSON Schema',
  }),
  required: Type.Array(text('The name of a field'), { description: 'The fields that must have a value' }),
});

export const Agent = objectOf('Agent', 'An agent: a graph under a name.', {
  ...agentFields,
  tools: Type.Array(
    objectOf('AgentTool', 'A tool of an agent.', {
      name: text('The name by which the model calls it'),
      description: text('What it does, for the model'),
      parameters: described(JsonObject, 'The JSON Schema of its arguments'),
      remote: flag('Whether the caller runs it'),
    }),
    { description: 'The tools of its graph' },
  ),
  graph: described(
    Json,
    'The graph as it is drawn: `nodes` with `id` and `type`, `edges` with `source`, `target` and `conditional`, and `mermaid`',
  ),
  state_schema: described(
    StateSchema,
    'The fields of the state of its threads, as `GET /v1/graph:StateSchema` gives them',
  ),
  ...registeredFields,
});

const RunMetadata = objectOf('RunMetadata', 'About the request that started the run.', {
  message: text('How the run ended: its status'),
  request_id: text('The id of the request that started the run'),
  timestamp: time('When the run ended'),
  usage: Type.Optional(described(Usage, 'The tokens that the run has taken; absent when it took none')),
});

export const Interrupt = objectOf('Interrupt', 'A question of a node that waits for an answer.', {
  id: text('The id under which `resume` answers it'),
  node: text('The node that asks'),
  value: described(Json, 'What the node asks, in a form of its own'),
  deadline: Type.Optional(time('When the run goes on without an answer; absent: never')),
  default: Type.Optional(
    described(Json, 'The answer that counts from the deadline on; absent: the node learns that nobody answered'),
  ),
  to: Type.Optional(
    Type.Array(Type.String(), {
      description: 'The roles whose callers answer it, at `/v1/questions`; absent: the owner of the thread does',
    }),
  ),
  not_owner: Type.Optional(flag('Whether the owner may not answer it, whichever roles he has; absent for no')),
  quorum: Type.Optional(
    Type.Integer({ minimum: 2, description: 'How many callers must give the same answer; absent: one' }),
  ),
});

export const InvokeResult = objectOf('InvokeResult', 'The result of a run.', {
  messages: Type.Array(Message, {
    description: 'The last reply of the assistant, or the message that asks for remote tools; empty when there is none',
  }),
  all_messages: Type.Array(Message, {
    description: 'All messages that the run added, with tool calls and results; its input is not repeated',
  }),
  all_messages_truncated: Type.Optional(
    flag('`true` when `all_messages` holds only the newest, as many as fit 4 MiB; else absent'),
  ),
  state: Type.Optional(described(JsonObject, 'The whole state; absent at granularity `low`')),
  context: Type.Optional(described(Json, 'The messages that the model sees; absent at granularity `low`')),
  summary: Type.Optional(text('The summary of earlier messages, `""` without one; only at granularity `full`')),
  iterations: count('The largest number of times that any one node ran'),
  recursion_limit_reached: flag('Whether the run ended because it needed more iterations than `recursion_limit`'),
  metadata: described(RunMetadata, 'About the request that started the run'),
  meta: Type.Object(
    {
      thread_id: threadId,
      run_id: runId,
      is_new_thread: flag('Whether the run made the thread'),
      status: words(endStatuses, { description: 'How the run ended', meanings: endMeanings() }),
      resumes: Type.Optional(text('The interrupted run that this one continued; absent when it continued none')),
      interrupts: Type.Optional(
        Type.Array(Interrupt, { description: 'The open questions of an interrupted run; absent without any' }),
      ),
    },
    { description: 'About the run' },
  ),
});

function endMeanings() {
  const { interrupted, completed, failed, stopped } = runStatusMeanings;
  return { interrupted, completed, failed, stopped };
}

export const StreamChunk = objectOf('StreamChunk', 'One event of a run.', {
  event: words([...eventKinds, ...extraKinds], {
    description: 'The kind of the event; the last one is `on_chain_end` or `error`',
    meanings: eventMeanings,
  }),
  data: described(Json, 'What happened. Its form follows from the kind; `x-events` of this document describes each.'),
  thread_id: threadId,
  run_id: runId,
  message: Type.Optional(described(Message, 'The whole message, on its last `messages_chunk`')),
  state: Type.Optional(described(JsonObject, 'The changed fields, on `state_chunk`')),
  metadata: described(
    JsonObject,
    'Where the event comes from: `request_id`, `thread_id`, `is_new_thread`, and where they apply `node`, `step`, `message_id`, `role`',
  ),
  timestamp: time('When the event was published'),
});
