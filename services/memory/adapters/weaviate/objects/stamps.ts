import { randomUUID } from 'node:crypto';
import type { IdempotentRequest } from '../../../ports/records.ts';
import { markId } from '../marks/marks.ts';

/** A request as the stamp of an object names it. */
export interface StampedRequest {
  /** The id of the object that keeps its outcome. */
  readonly id: string;
  /** When its outcome expires: milliseconds since 1970 UTC. */
  readonly until: number;
}

/** The id of the object that keeps the outcome of a request. */
export const requestId = (owner: string, { id }: IdempotentRequest): string => markId('request', owner, id);

/** When the outcome of a request expires: milliseconds since 1970 UTC. */
export const untilOf = ({ at, keptMs }: IdempotentRequest): number => at + keptMs;

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
