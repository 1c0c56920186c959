import { randomUUID } from 'node:crypto';
import type { IdempotentRequest } from '../../ports/records.ts';
import { requestId, untilOf, type StampedRequest } from './idempotency.ts';

/**
 * The stamp of an object distinguishes its writes. The stamp of an update that may be sent again names its request; that of a repair
 * names the repair, and the request of the stamp before it.
 */
export const newStamp = (): string => randomUUID();

export const requestStamp = (owner: string, request: IdempotentRequest): string =>
  `request ${requestId(owner, request)} ${String(untilOf(request))}`;

/** The request whose update is the last write of the object; `undefined` when it was another write. */
export function requestOfStamp(stamp: unknown): StampedRequest | undefined {
  const [, id, until] = /\brequest ([\da-f-]{36}) (\d{1,16})$/.exec(String(stamp)) ?? [];
  return id === undefined ? undefined : { id, until: Number(until) };
}

export const repairStamp = (epoch: string, stamp: unknown): string => {
  const before = requestOfStamp(stamp);
  return `repaired ${epoch}${before ? ` request ${before.id} ${String(before.until)}` : ''}`;
};

/** Whether this repair has put the object again, and it was not written since. */
export const isRepaired = (epoch: string, stamp: unknown): boolean =>
  `${String(stamp)} `.startsWith(`repaired ${epoch} `);
