import type { Refusal, RefusalReply } from '../../../http/dialect.ts';
import { rpcCodes } from '../wire/rpc-error.ts';

const headers = ['Content-Type', 'application/json; charset=utf-8'];

/** Why a request was refused before its message was read: as an error of JSON-RPC that is the reply to none. */
export function refuse({ code, status, message }: Refusal): RefusalReply {
  const rpcCode = code === 'BadRequest' || code === 'Invalid' ? rpcCodes.parse : rpcCodes.internal;
  return {
    status: status === 422 ? 400 : status,
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: rpcCode, message } }),
  };
}
