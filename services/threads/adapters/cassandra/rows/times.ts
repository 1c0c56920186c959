const secondMs = 1000;
const hourMs = 3600 * secondMs;

/** A thread moves in the list by recency when its update falls into another slot; each move leaves an empty row. */
const slotMs = 10 * secondMs;

export const slotOf = (timeMs: number): number => Math.floor(timeMs / slotMs);

export const hourOf = (timeMs: number): number => Math.floor(timeMs / hourMs);

/** The hour of a slot. */
export const hourOfSlot = (slot: number): number => Math.floor((slot * slotMs) / hourMs);

/** Microseconds since 1970, strictly ascending within a process. */
export function createTicks(now: () => number): () => number {
  let last = 0;
  return () => (last = Math.max(last + 1, now() * 1000));
}
