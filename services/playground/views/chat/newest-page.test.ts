import test from 'ava';
import fc from 'fast-check';
import { findNewestPage, pageSize } from './newest-page.ts';

test('the end of a list is found whatever its length: one to three pages of it', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3_000_000 }), async (length) => {
      const from = await findNewestPage((offset) => Promise.resolve(offset < length));
      t.true(length - from > Math.min(pageSize, length - 1));
      t.true(length - from <= 3 * pageSize);
    }),
  );
});

test('a list of 10,000 items is probed in at most four rounds', async (t) => {
  let probes = 0;
  await findNewestPage((offset) => {
    probes++;
    return Promise.resolve(offset < 10_000);
  });
  t.true(probes <= 24, String(probes));
});
