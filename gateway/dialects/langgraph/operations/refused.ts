import { sizes } from '@agent-workflow/kit/sizes';

/** What LangGraph's clients can ask for, and this service refuses. */
interface Refused {
  /** The operations, as `reference` names them. */
  readonly operations: readonly string[];
  /** Where the value stands in the query or the body; absent: whatever is asked. */
  readonly parameter?: string;
  /** Which values are refused; absent: all. */
  readonly values?: string;
  readonly status: number;
  readonly why: string;
  /** A query or a body that is refused. */
  readonly example?: Readonly<Record<string, unknown>> | readonly object[];
}

const accepted = ['POST /threads/{thread_id}/runs', 'POST /runs', 'POST /runs/batch'];
const waitedFor = [
  'POST /threads/{thread_id}/runs/wait',
  'POST /threads/{thread_id}/runs/stream',
  'POST /runs/wait',
  'POST /runs/stream',
];
const runs = [...accepted, ...waitedFor];
const input = { messages: [{ type: 'human', content: 'hello' }] };

export const refused: readonly Refused[] = [
  {
    operations: ['DELETE /threads/{thread_id}/runs/{run_id}'],
    status: 422,
    why: 'A run is kept as long as its thread: delete the thread',
  },
  {
    operations: ['GET /threads/{thread_id}/storage'],
    status: 404,
    why: 'The record keeps no sizes by channel',
  },
  {
    operations: runs,
    parameter: 'command.goto',
    status: 422,
    why: 'A run goes on where its thread stands',
    example: { command: { goto: 'think' } },
  },
  {
    operations: runs,
    parameter: 'command.graph',
    status: 422,
    why: 'A run is of one graph',
    example: { command: { resume: 'yes', graph: 'other' } },
  },
  {
    operations: runs,
    parameter: 'command',
    values: 'beside `input`',
    status: 422,
    why: 'Either starts the run',
    example: { input, command: { resume: 'yes' } },
  },
  {
    operations: runs,
    parameter: 'input.messages',
    values: 'with an id of more than 256 characters, or one that holds a slash or a control character',
    status: 422,
    why: 'Ids of messages stand in paths',
    example: { input: { messages: [{ type: 'human', id: 'm/1', content: 'hello' }] } },
  },
  {
    operations: runs,
    parameter: 'input',
    values: 'with a field that the graph does not have',
    status: 422,
    why: 'It would be lost',
    example: { input: { colour: 'blue' } },
  },
  {
    operations: runs,
    parameter: 'config.configurable',
    values:
      'with a name by which the service itself reads the config of a run: `agent`, `metadata`, `multitask_strategy`, `on_completion`, `on_disconnect`, `recursion_limit`, `tags`, `thread_name`, `ttl` and others',
    status: 422,
    why: 'It would change what the service does',
    example: { input, config: { configurable: { on_completion: 'delete' } } },
  },
  {
    operations: runs,
    parameter: 'checkpoint.checkpoint_ns',
    status: 422,
    why: 'A sub-graph has no checkpoints of its own',
    example: { input, checkpoint: { checkpoint_ns: 'sub:1' } },
  },
  {
    operations: runs.filter((operation) => operation.includes('{thread_id}')),
    values: '`interrupt_before` or `interrupt_after` with a node that the graph does not have',
    status: 422,
    why: 'The run would never stop there',
    example: { input, interrupt_before: ['nowhere'] },
  },
  {
    operations: runs,
    parameter: 'feedback_keys',
    status: 422,
    why: 'There is no LangSmith',
    example: { input, feedback_keys: ['good'] },
  },
  {
    operations: runs,
    parameter: 'langsmith_tracer',
    status: 422,
    why: 'There is no LangSmith',
    example: { input, langsmith_tracer: { project_name: 'mine' } },
  },
  {
    operations: [...runs, 'POST /threads/{thread_id}/runs/crons', 'POST /runs/crons', 'PATCH /runs/crons/{cron_id}'],
    parameter: 'webhook',
    values: 'with an address that is not of the public internet, or with `localhost`',
    status: 422,
    why: 'Nothing would be sent there',
    example: { input, schedule: '0 9 * * *', webhook: 'http://127.0.0.1:9000/hook' },
  },
  {
    operations: ['POST /threads/{thread_id}/runs/{run_id}/cancel', 'POST /runs/cancel'],
    parameter: 'action',
    values: '`rollback`',
    status: 422,
    why: 'A run is rolled back by another with `multitask_strategy: "rollback"`',
    example: { action: 'rollback' },
  },
  {
    operations: ['POST /threads/{thread_id}/state'],
    parameter: 'as_node',
    values: 'a node after which others come than those at which the thread waits',
    status: 422,
    why: 'No node runs by an update',
    example: { values: { answer: 'x' }, as_node: 'think' },
  },
  {
    operations: ['POST /threads/{thread_id}/state'],
    values: '`values` with a field that the graph does not have',
    status: 422,
    why: 'It would be lost',
    example: { values: { colour: 'blue' } },
  },
  {
    operations: ['POST /threads/{thread_id}/state'],
    parameter: 'values',
    values: 'as a list',
    status: 422,
    why: 'A state is an object. LangGraph Server takes a list as one value, for a graph whose state is one',
    example: { values: [{ answer: 'x' }, { answer: 'y' }] },
  },
  {
    operations: ['GET /threads/{thread_id}/stream'],
    parameter: 'stream_mode',
    values: 'with `state_update`, also beside others',
    status: 422,
    why: 'A state that a caller changes is in the history, and no event',
    example: { stream_mode: 'state_update' },
  },
  {
    operations: ['POST /runs/batch'],
    values: 'more than 100 runs',
    status: 422,
    why: 'Send them in several requests',
    example: Array.from({ length: 101 }, () => ({ assistant_id: 'agent', input })),
  },
  {
    operations: [
      'POST /threads/{thread_id}/runs',
      ...waitedFor.filter((operation) => operation.includes('{thread_id}')),
    ],
    parameter: 'on_completion',
    values: '`delete` beside `after_seconds`',
    status: 422,
    why: 'A thread that is there stays when a run starts later in it',
    example: { input, on_completion: 'delete', after_seconds: 60 },
  },
  {
    operations: ['POST /threads/{thread_id}/commands'],
    parameter: 'params.on_completion',
    values: '`delete` of `run.start`',
    status: 200,
    why: 'The reply is an error of the command, `not_supported`: its thread stays',
    example: { id: 1, method: 'run.start', params: { assistant_id: 'agent', input, on_completion: 'delete' } },
  },
  {
    operations: ['POST /threads/{thread_id}/commands'],
    parameter: 'params.goto',
    values: 'of `input.respond`',
    status: 200,
    why: 'The reply is an error of the command, `not_supported`: a run goes on where its thread stands',
    example: { id: 1, method: 'input.respond', params: { interrupt_id: 'q', response: 'yes', goto: 'think' } },
  },
  {
    operations: ['POST /threads/{thread_id}/commands'],
    values: '`input.inject`',
    status: 200,
    why: 'The reply is an error of the command, `not_supported`: a run reads its input when it starts',
    example: { id: 1, method: 'input.inject', params: {} },
  },
  {
    operations: ['POST /threads'],
    parameter: 'supersteps.updates.as_node',
    values: 'a node after which others come than those at which the thread waits',
    status: 422,
    why: 'No node runs by an update',
    example: {
      supersteps: [
        { updates: [{ values: input, as_node: '__start__' }] },
        { updates: [{ values: { answer: 'x' }, as_node: 'think' }] },
      ],
    },
  },
  {
    operations: [
      'POST /threads/{thread_id}/state',
      'POST /threads/{thread_id}/state/checkpoint',
      'POST /threads/{thread_id}/history',
    ],
    parameter: 'checkpoint.checkpoint_ns',
    status: 422,
    why: 'A sub-graph has no checkpoints of its own',
    example: { values: {}, checkpoint: { checkpoint_ns: 'sub:1' } },
  },
  {
    operations: ['POST /threads', 'PATCH /threads/{thread_id}'],
    parameter: 'ttl.strategy',
    values: 'other than `delete`',
    status: 422,
    why: 'At its end a thread goes as a whole',
    example: { ttl: { ttl: 60, strategy: 'keep_latest' } },
  },
  {
    operations: ['PUT /store/items'],
    parameter: 'key',
    values: 'of more than 512 characters',
    status: 422,
    why: 'That is the longest key',
    example: { namespace: ['notes'], key: 'k'.repeat(513), value: {} },
  },
  {
    operations: ['PUT /store/items'],
    parameter: 'value',
    values: 'of more than 1 MiB',
    status: 422,
    why: 'That is the largest value',
    example: { namespace: ['notes'], key: 'k', value: { text: 'x'.repeat(sizes.item) } },
  },
  ...(['namespace', 'namespace_prefix', 'prefix'] as const).map((parameter) => ({
    operations: {
      namespace: ['PUT /store/items', 'DELETE /store/items'],
      namespace_prefix: ['POST /store/items/search'],
      prefix: ['POST /store/namespaces'],
    }[parameter],
    parameter,
    values: 'of more than 16 labels',
    status: 422,
    why: 'That is the deepest namespace',
    example: { [parameter]: Array.from({ length: 17 }, () => 'a'), key: 'k', value: {} },
  })),
  {
    operations: ['DELETE /assistants/{assistant_id}'],
    parameter: 'delete_threads',
    values: '`true`',
    status: 422,
    why: 'Threads are deleted by themselves',
    example: { delete_threads: 'true' },
  },
  {
    operations: ['PATCH /assistants/{assistant_id}', 'DELETE /assistants/{assistant_id}'],
    values: "of a graph's own assistant",
    status: 409,
    why: 'It is as the graph is: make another one',
  },
];
