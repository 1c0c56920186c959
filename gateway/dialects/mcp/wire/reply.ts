import type { Client } from './client.ts';
import { isObject, type Fields } from './fields.ts';

/** How long what a list gives may be taken for true, in milliseconds. */
const listMs = 10_000;

/** The reply to a request. In the version without a handshake a result says of which kind it is. */
export function toReply(
  id: string | number,
  outcome: { readonly result: Fields } | { readonly error: Fields },
  { isModern }: Pick<Client, 'isModern'>,
): Fields {
  const head = { jsonrpc: '2.0', id };
  if (!('result' in outcome)) return { ...head, ...outcome };
  const { result } = outcome;
  return { ...head, result: isModern && !('resultType' in result) ? { resultType: 'complete', ...result } : result };
}

/** A result that clients of the version without a handshake may keep. What it holds is that caller's. */
export const cached = (result: Fields, { isModern }: Pick<Client, 'isModern'>): Fields =>
  isModern ? { ...result, ttlMs: listMs, cacheScope: 'private' } : result;

/** The id of a request; `undefined` for what can be none. */
export const idIn = (value: unknown): string | number | undefined =>
  typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value)) ? value : undefined;

export const isReply = (message: Fields): boolean =>
  !('method' in message) && ('result' in message || 'error' in message) && !isObject(message['id']);
