import type { KeywordHit, ListMark, MemoryHead, Narrowing, VectorHit } from '../ports/port.ts';

// The orders that the port promises, for stores that put memories in order themselves.

/** Newest first, then the greater id, by its bytes. */
export const byRecency = (a: ListMark, b: ListMark): number =>
  b.timestamp - a.timestamp || Buffer.compare(Buffer.from(b.memoryId), Buffer.from(a.memoryId));

export const newestFirst = (a: VectorHit, b: VectorHit): number => byRecency(a.head, b.head);

export const nearestFirst = (a: VectorHit, b: VectorHit): number =>
  b.closeness - a.closeness || byRecency(a.head, b.head);

export const heaviestFirst = (a: KeywordHit, b: KeywordHit): number => b.weight - a.weight || byRecency(a.head, b.head);

/** Whether a memory is one of those that a query is narrowed to; `metadata`, a hint, is left to `accepts`. */
export const isWithin = ({ memoryType, category, threadId, memoryIds }: Narrowing, head: MemoryHead): boolean =>
  (memoryType === undefined || memoryType === head.memoryType) &&
  (category === undefined || category === head.category) &&
  (threadId === undefined || threadId === head.threadId) &&
  (memoryIds === undefined || memoryIds.has(head.memoryId));
