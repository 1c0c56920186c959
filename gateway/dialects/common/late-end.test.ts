import test from 'ava';
import { createLateEnd } from './late-end.ts';

test('the end of a run comes no sooner than a while after it began to be read, unless it is history', (t) => {
  const waitFor = createLateEnd(10_000);
  const end = { kind: 'on_chain_end', at: 10_003 } as const;
  t.is(waitFor({ kind: 'values', at: 10_002 }, 10_002), 0);
  t.is(waitFor(end, 10_010), 190);
  t.is(waitFor({ kind: 'error', at: 9000 }, 10_000), 200);
  t.is(waitFor(end, 10_500), 0);
  t.is(waitFor({ ...end, at: 4999 }, 10_000), 0);
});
