import test from 'ava';
import { readPage, searchPage, type Listing } from './paging.ts';

/** A list without an end, whose reader gives it up after some parts; it refuses to be read for ever. */
function openEndless(): { readonly listing: Listing<number, number>; readonly signal: AbortSignal; reads: number } {
  const leaving = new AbortController();
  const endless = {
    signal: leaving.signal,
    reads: 0,
    listing: {
      read: ({ limit, offset = 0, after = -1 }: { limit: number; offset?: number; after?: number | undefined }) => {
        endless.reads += 1;
        if (endless.reads === 5) leaving.abort(new Error('cancelled'));
        if (endless.reads > 500) throw new RangeError('read on after the cancellation');
        return Promise.resolve(Array.from({ length: limit }, (_, index) => after + 1 + offset + index));
      },
      markOf: (row: number) => row,
      sizeOf: () => 1,
    },
  };
  return endless;
}

test('a cancelled search reads no further', async (t) => {
  const endless = openEndless();
  const slow = (): boolean => {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    return false;
  };
  const page = { limit: 10, offset: 0, signal: endless.signal, matches: slow };
  await t.throwsAsync(searchPage(endless.listing, page), { message: 'cancelled' });
  t.true(endless.reads < 10);
});

test('a cancelled reading of a page far after the beginning reads no further', async (t) => {
  const endless = openEndless();
  const page = { limit: 10, offset: 1_000_000_000, signal: endless.signal };
  await t.throwsAsync(readPage(endless.listing, page), { message: 'cancelled' });
  t.true(endless.reads < 10);
});
