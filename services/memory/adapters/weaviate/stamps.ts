import { randomUUID } from 'node:crypto';
import type { SentRequest } from '../../ports/port.ts';
import { requestId, untilOf, type StampedRequest } from './requests.ts';

/**
 * The stamp of an object tells one write of it from another. That of an update which may be sent again names its request; that of a
 * repair begins with the repair and goes on with the stamp before it.
 */
export const newStamp = (): string => randomUUID();

export const requestStamp = (owner: string, request: SentRequest): string =>
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

/** Whether this repair has put the object again, and nobody has written it since. */
export const isRepaired = (epoch: string, stamp: unknown): boolean =>
  `${String(stamp)} `.startsWith(`repaired ${epoch} `);
