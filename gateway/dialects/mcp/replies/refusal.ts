import type { Refusal, RefusalReply } from '../../../http/dialect.ts';
import { isBatch, noBatches } from '../../common/batch.ts';
import { rpcCodes } from '../wire/rpc-error.ts';

const headers = ['Content-Type', 'application/json; charset=utf-8'];

/** Why a request was refused before its message was read: as an error of JSON-RPC that is the reply to none. */
export function refuse(refusal: Refusal): RefusalReply {
  const { code, status } = refusal;
  const isOne = !isBatch(refusal);
  const unread = isOne ? rpcCodes.parse : rpcCodes.invalidRequest;
  const rpcCode = code === 'BadRequest' || code === 'Invalid' ? unread : rpcCodes.internal;
  const message = isOne ? refusal.message : noBatches;
  return {
    status: status === 422 ? 400 : status,
    // A stream that goes on behind no event is none: the path takes messages.
    headers: status === 405 && code === 'BadRequest' ? [...headers, 'Allow', 'POST'] : headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: rpcCode, message } }),
  };
}
