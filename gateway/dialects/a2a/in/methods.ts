import type { Rpc, RpcCall } from '../../../http/dialect.ts';
import { a2aError } from '../replies/reasons.ts';

/** The rows that the methods of JSON-RPC call. */
const methods: Readonly<Record<string, Method>> = {
  SendMessage: { row: 'a2aSendMessage' },
  SendStreamingMessage: { row: 'a2aStreamMessage' },
  GetTask: { row: 'a2aGetTask', task: 'id' },
  ListTasks: { row: 'a2aListTasks' },
  CancelTask: { row: 'a2aCancelTask', task: 'id' },
  SubscribeToTask: { row: 'a2aSubscribeToTask', task: 'id' },
  CreateTaskPushNotificationConfig: { row: 'a2aCreatePush', task: 'taskId' },
  GetTaskPushNotificationConfig: { row: 'a2aGetPush', task: 'taskId', config: 'id' },
  ListTaskPushNotificationConfigs: { row: 'a2aListPushes', task: 'taskId' },
  DeleteTaskPushNotificationConfig: { row: 'a2aDeletePush', task: 'taskId', config: 'id' },
  GetExtendedAgentCard: { row: 'a2aExtendedCard' },
};

/** A row, and the names of the params that stand in its path. */
interface Method {
  readonly row: string;
  readonly task?: string;
  readonly config?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads what a body of JSON-RPC calls. @throws InvalidRequest, MethodNotFound, InvalidParams */
export const readCall: Rpc['read'] = (body, inPath): RpcCall => {
  const { jsonrpc, method, params = {}, id } = body;
  if (jsonrpc !== '2.0') throw a2aError('INVALID_REQUEST', 'jsonrpc must be "2.0"');
  if (typeof method !== 'string') throw a2aError('INVALID_REQUEST', 'method must be a string');
  if (typeof id !== 'string' && typeof id !== 'number')
    throw a2aError('INVALID_REQUEST', 'id must be a string or a number');
  if (!isObject(params)) throw a2aError('INVALID_PARAMS', 'params must be an object');
  const called = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (!called) throw a2aError('METHOD_NOT_FOUND', `there is no method "${method.slice(0, 64)}"`);
  const { row, task, config } = called;
  const inParams = {
    ...(task !== undefined && { run_id: textIn(params, task) }),
    ...(config !== undefined && { config: textIn(params, config) }),
  };
  const input = Object.entries(params).filter(([name]) => name !== task && name !== config);
  return { row, params: { ...inPath, ...inParams }, input: Object.fromEntries(input) };
};

function textIn(params: Fields, name: string): string {
  const text = params[name];
  if (typeof text !== 'string' || text === '') throw a2aError('INVALID_PARAMS', `params.${name} must be a text`);
  return text;
}
