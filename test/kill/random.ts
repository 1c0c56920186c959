import { createHash } from 'node:crypto';

const bytes = 6;

/** Numbers from 0 up to 1, evenly spread, that a seed gives again. */
export function generator(seed: number): () => number {
  let count = 0;
  return () => createHash('sha256').update(`${seed} ${count++}`).digest().readUIntBE(0, bytes) / 2 ** (8 * bytes);
}
