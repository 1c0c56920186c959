import type { Rpc, RpcCall } from '../../../http/dialect.ts';
import { a2aError } from '../replies/reasons.ts';

/** The rows that the methods of JSON-RPC call, and the name by which their params name the task. */
const methods: Readonly<Record<string, { readonly row: string; readonly task?: string }>> = {
  SendMessage: { row: 'a2aSendMessage' },
  SendStreamingMessage: { row: 'a2aStreamMessage' },
  GetTask: { row: 'a2aGetTask', task: 'id' },
};

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
  if (called.task === undefined) return { row: called.row, params: inPath, input: { ...params } };
  const { [called.task]: taskId, ...input } = params;
  if (typeof taskId !== 'string' || taskId === '')
    throw a2aError('INVALID_PARAMS', `params.${called.task} must be the id of a task`);
  return { row: called.row, params: { ...inPath, run_id: taskId }, input };
};
