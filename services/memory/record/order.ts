import type { MemoryHead } from '../ports/memory.ts';
import type { Narrowing } from '../ports/query.ts';
import type { ListPosition } from '../ports/records.ts';
import type { KeywordHit, VectorHit } from '../ports/search.ts';

// The orders that the ports promise, for stores that sort memories themselves.

/** Newest first, then the greater id, by its bytes. */
export const byRecency = (a: ListPosition, b: ListPosition): number =>
  b.timestamp - a.timestamp || Buffer.compare(Buffer.from(b.memoryId), Buffer.from(a.memoryId));

/** The time of what a memory describes; without one, when it was stored or last updated. */
export const timeOf = ({ happenedAt, timestamp }: Pick<MemoryHead, 'happenedAt' | 'timestamp'>): number =>
  happenedAt ?? timestamp;

/** The same by the time of what they describe. */
const byTime = (a: MemoryHead, b: MemoryHead): number => timeOf(b) - timeOf(a) || byRecency(a, b);

export const newestFirst = (a: VectorHit, b: VectorHit): number => byTime(a.head, b.head);

export const nearestFirst = (a: VectorHit, b: VectorHit): number => a.distance - b.distance || byTime(a.head, b.head);

export const bestScoreFirst = (a: KeywordHit, b: KeywordHit): number => b.score - a.score || byTime(a.head, b.head);

/** Whether a memory counts as present. */
export const isAlive = ({ expiresAt = Infinity }: Pick<MemoryHead, 'expiresAt'>, at: number): boolean => expiresAt > at;

/** Whether a memory meets the narrowing. The hint `metadata` is left to `accepts`. */
export const isWithin = (
  { memoryType, category, threadId, memoryIds, aliveAt }: Narrowing,
  head: MemoryHead,
): boolean =>
  (aliveAt === undefined || isAlive(head, aliveAt)) &&
  (memoryType === undefined || memoryType === head.memoryType) &&
  (category === undefined || category === head.category) &&
  (threadId === undefined || threadId === head.threadId) &&
  (memoryIds === undefined || memoryIds.has(head.memoryId));
