import { testedAgent } from '../servers/standalone.ts';

/** What the calls of the matrix name. */
interface Named {
  readonly thread_id: string;
  readonly run_id: string;
  readonly assistant_id: string;
}

/** One operation of a protocol whose requests are all sent to one path: a case of the matrix as a route is. */
interface RpcCall {
  /** As the matrix has it in its titles. */
  readonly name: string;
  readonly path: string;
  readonly body: (ids: Named) => object;
  readonly headers: (ids: Named) => Readonly<Record<string, string>>;
}

const version = '2026-07-28';
const prefix = 'io.modelcontextprotocol/';
const meta = {
  [`${prefix}protocolVersion`]: version,
  [`${prefix}clientCapabilities`]: { elicitation: {}, extensions: { [`${prefix}tasks`]: {} } },
};

type Params = Readonly<Record<string, unknown>>;
type ParamsOf = (ids: Named) => Params;

const accept = 'application/json, text/event-stream';

/** A request of a client of MCP without a handshake. */
const modern = (method: string, paramsOf: ParamsOf = () => ({}), title = method): RpcCall => ({
  name: `${title}, without a handshake`,
  path: '/mcp',
  body: (ids) => ({ jsonrpc: '2.0', id: 1, method, params: { ...paramsOf(ids), _meta: meta } }),
  headers: (ids) => {
    const { name, uri, taskId } = paramsOf(ids);
    const named = [name, uri, taskId].find((each) => typeof each === 'string');
    return { accept, 'mcp-protocol-version': version, 'mcp-method': method, ...(named && { 'mcp-name': named }) };
  },
});

/** The session of a client that has declared what it can be asked for, as a replica gives it. */
const session = Buffer.from(JSON.stringify({ can: ['elicitation'], of: 'the matrix' })).toString('base64url');

/** A message of a client of MCP with a handshake. */
const handshake = (title: string, bodyOf: (ids: Named) => object): RpcCall => ({
  name: `${title}, with a handshake`,
  path: '/mcp',
  body: (ids) => ({ jsonrpc: '2.0', ...bodyOf(ids) }),
  headers: () => ({ accept, 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': session }),
});

const asking: ParamsOf = ({ thread_id }) => ({
  name: testedAgent,
  arguments: { message: 'hello', thread_id },
});
const reading: ParamsOf = ({ thread_id }) => ({ uri: `threads://${thread_id}` });
const prompting: ParamsOf = ({ assistant_id }) => ({ name: assistant_id, arguments: { message: 'hello' } });
const task: ParamsOf = ({ run_id }) => ({ taskId: run_id });
const completing: ParamsOf = ({ thread_id }) => ({
  ref: { type: 'ref/resource', uri: 'threads://{thread_id}' },
  argument: { name: 'thread_id', value: thread_id },
});

const ofMcp: readonly RpcCall[] = [
  modern('server/discover'),
  modern('tools/list'),
  modern('tools/call', asking),
  modern('tools/call', (ids) => ({ ...asking(ids), requestState: ids.run_id }), 'tools/call that goes on'),
  modern('tasks/get', task),
  modern('tasks/update', (ids) => ({ ...task(ids), inputResponses: { any: { action: 'cancel' } } })),
  modern('tasks/cancel', task),
  modern('resources/list'),
  modern('resources/templates/list'),
  modern('resources/read', reading),
  modern('prompts/list'),
  modern('prompts/get', prompting),
  modern('completion/complete', completing),
  ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'].map((method) =>
    handshake(method, (ids) => ({
      ...{ id: 1, method },
      params: { protocolVersion: '2025-11-25', capabilities: {}, level: 'info', ...reading(ids) },
    })),
  ),
  handshake('tools/call', (ids) => ({ id: `call of ${ids.run_id}`, method: 'tools/call', params: asking(ids) })),
  handshake('resources/read', (ids) => ({ id: 1, method: 'resources/read', params: reading(ids) })),
  handshake('prompts/get', (ids) => ({ id: 1, method: 'prompts/get', params: prompting(ids) })),
  handshake('notifications/cancelled', ({ run_id }) => ({
    ...{ method: 'notifications/cancelled', params: { requestId: `call of ${run_id}` } },
  })),
  handshake('the reply to a question', ({ run_id }) => ({ id: `${run_id} any`, result: { action: 'cancel' } })),
];

const message = ({ thread_id }: Named): Params => ({
  message: { messageId: 'm-2', contextId: thread_id, role: 'ROLE_USER', parts: [{ text: 'hello' }] },
});
const byId: ParamsOf = ({ run_id }) => ({ id: run_id });
const pushOf: ParamsOf = ({ run_id }) => ({ taskId: run_id, id: 'none' });

/** The methods of A2A, with what they are about. */
const a2aParams: Readonly<Record<string, ParamsOf>> = {
  SendMessage: message,
  SendStreamingMessage: message,
  GetTask: byId,
  ListTasks: ({ thread_id }) => ({ contextId: thread_id }),
  CancelTask: byId,
  SubscribeToTask: byId,
  CreateTaskPushNotificationConfig: ({ run_id }) => ({ taskId: run_id, url: 'https://example.com/hook' }),
  GetTaskPushNotificationConfig: pushOf,
  ListTaskPushNotificationConfigs: ({ run_id }) => ({ taskId: run_id }),
  DeleteTaskPushNotificationConfig: pushOf,
  GetExtendedAgentCard: () => ({}),
};

const ofA2a: readonly RpcCall[] = Object.entries(a2aParams).map(([method, paramsOf]) => ({
  name: `${method} by JSON-RPC`,
  path: `/a2a/${testedAgent}`,
  body: (ids) => ({ jsonrpc: '2.0', id: 1, method, params: paramsOf(ids) }),
  headers: () => ({}),
}));

/** The calls that are no routes of their own: of each dialect that has such. */
export const rpcCalls: readonly RpcCall[] = [...ofMcp, ...ofA2a];
