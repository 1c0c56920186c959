import { getHeapSpaceStatistics } from 'node:v8';
import test from 'ava';
import type { Call } from '../call.ts';
import { link } from './link.ts';

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;

interface Operand {
  readonly x: number;
}

const service = link({ double: ({ x }: Operand, _: Call): Promise<Operand> => Promise.resolve({ x: x * 2 }) });

/** A call from a caller that holds some 2 kB until it is answered. */
async function double(x: number): Promise<number> {
  const held = Array.from({ length: 50 }, (_, index) => ({ index }));
  const { signal } = new AbortController();
  signal.addEventListener('abort', () => held.pop());
  return (await service.double({ x }, { deadline: Date.now() + 30_000, signal })).x;
}

test('what is held for a call within a process does not get old', async (t) => {
  for (let x = 0; x < 5000; x++) await double(x);
  const before = oldBytes();
  let most = before;
  for (let x = 0; x < 50_000; x++) {
    t.is(await double(x), x * 2);
    if (x % 1000 === 0) most = Math.max(most, oldBytes());
  }
  t.log(`the old space grew by ${String(most - before)} bytes`);
  t.true(most - before < 8 * 1024 * 1024);
});
