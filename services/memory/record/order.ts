import type { MemoryHead } from '../ports/memory.ts';
import type { Narrowing } from '../ports/query.ts';
import type { ListPosition } from '../ports/records.ts';
import type { KeywordHit, VectorHit } from '../ports/search.ts';

// The orders that the ports promise, for stores that sort memories themselves.

/** Newest first, then the greater id, by its bytes. */
export const byRecency = (a: ListPosition, b: ListPosition): number =>
  b.timestamp - a.timestamp || Buffer.compare(Buffer.from(b.memoryId), Buffer.from(a.memoryId));

export const newestFirst = (a: VectorHit, b: VectorHit): number => byRecency(a.head, b.head);

export const nearestFirst = (a: VectorHit, b: VectorHit): number =>
  a.distance - b.distance || byRecency(a.head, b.head);

export const bestScoreFirst = (a: KeywordHit, b: KeywordHit): number => b.score - a.score || byRecency(a.head, b.head);

/** Whether a memory meets the narrowing. The hint `metadata` is left to `accepts`. */
export const isWithin = ({ memoryType, category, threadId, memoryIds }: Narrowing, head: MemoryHead): boolean =>
  (memoryType === undefined || memoryType === head.memoryType) &&
  (category === undefined || category === head.category) &&
  (threadId === undefined || threadId === head.threadId) &&
  (memoryIds === undefined || memoryIds.has(head.memoryId));
