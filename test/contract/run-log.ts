import { numbersOfClaim } from '@agent-workflow/execution/ports/log-numbers';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { isServiceError } from '@agent-workflow/kit/errors';
import { never } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EventBatch } from '@agent-workflow/protos/event-pack';
import { isTerminal, type RunLog } from '@agent-workflow/execution/ports/log';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import { chunkText, eventOf, scopeOf } from '../events.ts';
import { until } from '../until.ts';

interface RunLogPlaces {
  /** Opens the logs of a place; every place is empty at first. */
  readonly open: (place: string) => Promise<RunLog>;
  /** Whether a place still holds what was written when it is opened again. */
  readonly keeps: boolean;
  /** Whether logs go when they are told to expire, or of themselves when they have grown old: when told, unless set. */
  readonly expires?: 'by age';
  /** Loses everything that a place holds, while its logs are open; absent where nobody but they themselves could. */
  readonly lose?: (place: string) => Promise<void>;
}

let places = 0;

/** Numbers that were told before a log that is told again. */
const ofThirdClaim = numbersOfClaim(3);

/** What any keeper of event logs must promise. */
export function runLogContract(test: TestFn, name: string, { open, keeps, expires, lose }: RunLogPlaces): void {
  const newPlace = (): string => `logs-${String((places += 1))}`;
  const check = (title: string, body: (t: ExecutionContext, log: RunLog) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using log = await open(newPlace());
      await body(t, log);
    });
  };

  check('a run without events has the last number 0', async (t, log) => {
    t.is(await log.last('r'), 0);
  });

  check('events are numbered on, and the last number is known', async (t, log) => {
    await log.append(scopeOf('r'), 0, chunksOf(1, 2));
    t.is(await log.last('r'), 2);
    await log.append(scopeOf('r'), 2, chunksOf(3, 3));
    t.is(await log.last('r'), 3);
    t.is(await log.last('other'), 0);
  });

  check('a log that began after a moment is followed, and waited for, before it has events', async (t, log) => {
    const moment = log.moment();
    log.setAgent('r', 'default');
    log.beganAfter('r', moment);
    t.is(await log.last('r'), 0);
    const [events, last] = [followAll(log, 'r'), log.end('r', never)];
    await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    t.deepEqual(numbers(await events), [1, 2]);
    t.is((await last).seq, 2);
    t.true(await log.isEnded('r'));
  });

  check('events can be written, before there are any and after some were', async (t, log) => {
    t.true(log.canWrite());
    await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    t.true(log.canWrite());
  });

  check('events come back as they were written', async (t, log) => {
    const events = [...chunksOf(1, 3), chunkOf(4, 'line\nbreak "quoted" Ω 🫖 \\'), end(5)];
    await log.append(scopeOf('r'), 0, events);
    t.deepEqual(plain(await followAll(log, 'r')), plain(events));
  });

  for (const after of [0, 1, 3, 7]) {
    check(`an append after ${String(after)} is stale when the last number is 2`, async (t, log) => {
      await log.append(scopeOf('r'), 0, chunksOf(1, 2));
      await stale(t, log.append(scopeOf('r'), after, [chunkOf(after + 1)]));
      await log.append(scopeOf('r'), 2, [end(3)]);
      t.deepEqual(numbers(await followAll(log, 'r')), [1, 2, 3]);
    });
  }

  check('nothing is appended after the last event', async (t, log) => {
    await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    await stale(t, log.append(scopeOf('r'), 2, [chunkOf(3)]));
    await stale(t, log.append(scopeOf('r'), 2, [end(3)]));
    t.deepEqual(numbers(await followAll(log, 'r')), [1, 2]);
  });

  check('nothing is appended after a last event that is just being written', async (t, log) => {
    const writing = log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    await stale(t, log.append(scopeOf('r'), 2, [end(3)]));
    await writing;
    t.deepEqual(numbers(await followAll(log, 'r')), [1, 2]);
  });

  check('of two who append after the same number at once one is stale', async (t, log) => {
    const results = await Promise.allSettled([
      log.append(scopeOf('r'), 0, chunksOf(1, 2)),
      log.append(scopeOf('r'), 0, chunksOf(1, 3)),
    ]);
    t.is(results.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  check('appends that nobody waited for keep their order', async (t, log) => {
    const writes = Array.from({ length: 500 }, async (_, index) =>
      log.append(scopeOf('r'), index, [chunkOf(index + 1)]),
    );
    await Promise.all([...writes, log.append(scopeOf('r'), 500, [end(501)])]);
    t.deepEqual(numbers(await followAll(log, 'r')), range(1, 501));
  });

  check('runs do not meet', async (t, log) => {
    const runs = Array.from({ length: 50 }, (_, index) => `r${String(index)}`);
    await Promise.all(runs.map(async (run) => log.append(scopeOf(run), 0, [chunkOf(1, run), end(2)])));
    for (const run of runs) t.deepEqual(plain(await followAll(log, run)), plain([chunkOf(1, run), end(2)]));
  });

  check('a follower has what was there before, and then what comes', async (t, log) => {
    await log.append(scopeOf('r'), 0, chunksOf(1, 3));
    const follower = listen(log, 'r');
    await follower.reaches(3);
    await log.append(scopeOf('r'), 3, [chunkOf(4)]);
    await follower.reaches(4);
    await log.append(scopeOf('r'), 4, [end(5)]);
    t.deepEqual(numbers(await follower.done), [1, 2, 3, 4, 5]);
  });

  check('a rebuilt log begins above 1, and a follower with a lower number gets all of it', async (t, log) => {
    const follower = listen(log, 'r', 4);
    await log.append(scopeOf('r'), 0, chunksOf(ofThirdClaim + 1, ofThirdClaim + 2));
    t.is(await log.last('r'), ofThirdClaim + 2);
    await stale(t, log.append(scopeOf('r'), 0, [chunkOf(1)]));
    await stale(t, log.append(scopeOf('r'), 2, [chunkOf(3)]));
    await log.append(scopeOf('r'), ofThirdClaim + 2, [end(ofThirdClaim + 3)]);
    const all = range(ofThirdClaim + 1, ofThirdClaim + 3);
    t.deepEqual(numbers(await follower.done), all);
    t.deepEqual(plain([await log.end('r', never)]), plain([end(ofThirdClaim + 3)]));
    for (const after of [0, 1, 9, ofThirdClaim]) t.deepEqual(numbers(await followAll(log, 'r', after)), all);
    t.deepEqual(numbers(await followAll(log, 'r', ofThirdClaim + 2)), [ofThirdClaim + 3]);
    t.deepEqual(await followAll(log, 'r', ofThirdClaim + 3), []);
  });

  check('a large event at the start of a rebuilt log passes', async (t, log) => {
    const large = 'x'.repeat(2 * 1024 * 1024);
    await log.append(scopeOf('r'), 0, [chunkOf(ofThirdClaim + 1, large), end(ofThirdClaim + 2)]);
    t.deepEqual(numbers(await followAll(log, 'r', 7)), [ofThirdClaim + 1, ofThirdClaim + 2]);
  });

  check('what a log has up to a number is read without waiting for more, once it is written', async (t, log) => {
    t.deepEqual(await readUpTo(log, 'r', 0), []);
    const writing = log.append(scopeOf('r'), 0, chunksOf(1, 3), { isAwaited: false });
    t.deepEqual(await readUpTo(log, 'r', await log.last('r')), [1, 2, 3]);
    await writing;
    await log.append(scopeOf('r'), 3, chunksOf(4, 5));
    t.deepEqual(await readUpTo(log, 'r', 5), [1, 2, 3, 4, 5]);
    await log.append(scopeOf('r'), 5, [end(6)]);
    t.deepEqual(await readUpTo(log, 'r', 6), [1, 2, 3, 4, 5, 6]);
  });

  check('a follower may come before the first event', async (t, log) => {
    const follower = listen(log, 'r');
    await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    t.deepEqual(numbers(await follower.done), [1, 2]);
  });

  check('no follower sees an event before its append has resolved', async (t, log) => {
    const follower = listen(log, 'r');
    let resolved = false;
    const append = log.append(scopeOf('r'), 0, [end(1)]).then(() => {
      resolved = true;
    });
    t.deepEqual(numbers(follower.seen), []);
    await follower.done;
    await append;
    t.true(resolved);
  });

  check('many followers, each from another number, see the same run', async (t, log) => {
    await log.append(scopeOf('r'), 0, chunksOf(1, 10));
    const followers = range(0, 20).map((after) => listen(log, 'r', after));
    for (let seq = 11; seq < 20; seq++) await log.append(scopeOf('r'), seq - 1, [chunkOf(seq)]);
    await log.append(scopeOf('r'), 19, [end(20)]);
    for (const [after, { done }] of followers.entries()) t.deepEqual(numbers(await done), range(after + 1, 20));
  });

  check('a slow follower gets everything in the end, and delays no other', async (t, log) => {
    const slow = log.follow('r', 0, never)[Symbol.asyncIterator]();
    const first = slow.next();
    await log.append(scopeOf('r'), 0, [chunkOf(1)]);
    t.deepEqual(numbers(((await first).value as EventBatch).events), [1]);
    const quick = listen(log, 'r');
    for (let seq = 2; seq < 4000; seq += 3) await log.append(scopeOf('r'), seq - 1, chunksOf(seq, seq + 2));
    const last = await log.last('r');
    await log.append(scopeOf('r'), last, [end(last + 1)]);
    t.deepEqual(numbers(await quick.done), range(1, last + 1));
    t.deepEqual(numbers(await rest(slow)), range(2, last + 1));
  });

  check('a log that its writer has left goes on where it stood, and its followers miss nothing', async (t, log) => {
    const follower = listen(log, 'r');
    await log.append(scopeOf('r'), 0, chunksOf(1, 2));
    log.leave('r');
    t.is(await log.last('r'), 2);
    await log.append(scopeOf('r'), 2, [chunkOf(3)]);
    log.leave('r');
    await stale(t, log.append(scopeOf('r'), 2, [chunkOf(3)]));
    await log.append(scopeOf('r'), 3, [end(4)]);
    log.leave('r');
    log.leave('nobody');
    t.deepEqual(numbers(await follower.done), [1, 2, 3, 4]);
    t.true(await log.isEnded('r'));
  });

  check('a follower that leaves takes nothing from the others', async (t, log) => {
    await log.append(scopeOf('r'), 0, chunksOf(1, 2));
    const leaving = log.follow('r', 0, never)[Symbol.asyncIterator]();
    const staying = listen(log, 'r');
    await leaving.next();
    await leaving.return?.();
    await log.append(scopeOf('r'), 2, [end(3)]);
    t.deepEqual(numbers(await staying.done), [1, 2, 3]);
    t.deepEqual(numbers(await followAll(log, 'r')), [1, 2, 3]);
  });

  check('a follower that waits ends when its signal fires, with the reason', async (t, log) => {
    await log.append(scopeOf('r'), 0, [chunkOf(1)]);
    const controller = new AbortController();
    const reason = new Error('enough');
    const iterator = log.follow('r', 0, controller.signal)[Symbol.asyncIterator]();
    await iterator.next();
    const waiting = iterator.next();
    controller.abort(reason);
    t.is(await t.throwsAsync(waiting), reason);
    await log.append(scopeOf('r'), 1, [end(2)]);
    t.deepEqual(numbers(await followAll(log, 'r')), [1, 2]);
  });

  check('following after the last event of an ended run ends at once', async (t, log) => {
    await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    t.deepEqual(await followAll(log, 'r', 2), []);
    t.deepEqual(await followAll(log, 'r', 9), []);
  });

  check('all who wait for the end get it, and at once when it is there', async (t, log) => {
    const waiting = [log.end('r', never), log.end('r', never)];
    await log.append(scopeOf('r'), 0, chunksOf(1, 2));
    await log.append(scopeOf('r'), 2, [end(3, 'error')]);
    for (const each of [...waiting, log.end('r', never)]) t.deepEqual(plain([await each]), plain([end(3, 'error')]));
  });

  check('a wait for the end ends when its signal fires', async (t, log) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiting = log.end('r', controller.signal);
    controller.abort(reason);
    t.is(await t.throwsAsync(waiting), reason);
    t.is(await t.throwsAsync(log.end('r', controller.signal)), reason);
  });

  check('events of 512 KiB pass, live and stored', async (t, log) => {
    const large = 'x'.repeat(512 * 1024);
    const live = listen(log, 'r');
    for (const seq of range(1, 8)) await log.append(scopeOf('r'), seq - 1, [chunkOf(seq, large)]);
    await log.append(scopeOf('r'), 8, [end(9)]);
    t.deepEqual(byteSizes(await live.done), byteSizes(await followAll(log, 'r')));
    t.true(
      byteSizes(await live.done)
        .slice(0, 8)
        .every((size) => size > large.length),
    );
  });

  check('an event of 4 MiB passes, live and stored, as does what comes before and after it', async (t, log) => {
    const large = 'x'.repeat(4 * 1024 * 1024);
    const live = listen(log, 'r');
    await log.append(scopeOf('r'), 0, [chunkOf(1), chunkOf(2, large), chunkOf(3)]);
    await log.append(scopeOf('r'), 3, [end(4)]);
    t.deepEqual(numbers(await live.done), [1, 2, 3, 4]);
    t.deepEqual(byteSizes(await followAll(log, 'r')), byteSizes(await live.done));
    t.deepEqual(numbers(await followAll(log, 'r', 1)), [2, 3, 4]);
    t.deepEqual(numbers(await followAll(log, 'r', 2)), [3, 4]);
    t.is(await log.last('r'), 4);
  });

  check('a last event of 2 MiB reaches those who wait for it, and those who come later', async (t, log) => {
    const large = eventOf(2, 'on_chain_end', 'y'.repeat(2 * 1024 * 1024));
    const waiting = log.end('r', never);
    await log.append(scopeOf('r'), 0, [chunkOf(1), large]);
    t.deepEqual(byteSizes([await waiting, await log.end('r', never)]), byteSizes([large, large]));
    t.true(await log.isEnded('r'));
    await stale(t, log.append(scopeOf('r'), 2, [chunkOf(3)]));
  });

  check('whether a run has ended is known from its last event on', async (t, log) => {
    t.false(await log.isEnded('r'));
    await log.append(scopeOf('r'), 0, [chunkOf(1)]);
    t.false(await log.isEnded('r'));
    const writing = log.append(scopeOf('r'), 1, [end(2)]);
    t.true(await log.isEnded('r'));
    await writing;
    t.true(await log.isEnded('r'));
  });

  check('logs that ended before a time expire, at most as many as asked for', async (t, log) => {
    if (expires === 'by age') {
      await log.append(scopeOf('a'), 0, [chunkOf(1), end(2)]);
      t.is(await log.expire(Date.now() + 1000, 10), 0);
      t.is(await log.last('a'), 2);
      return;
    }
    for (const run of ['a', 'b', 'c']) await log.append(scopeOf(run), 0, [chunkOf(1), end(2)]);
    await log.append(scopeOf('open'), 0, [chunkOf(1)]);
    t.is(await log.expire(Date.now() - 60_000, 10), 0);
    t.is(await log.expire(Date.now() + 1000, 2), 2);
    t.is(await log.expire(Date.now() + 1000, 10), 1);
    t.is(await log.expire(Date.now() + 1000, 10), 0);
    for (const run of ['a', 'b', 'c']) t.is(await log.last(run), 0);
    await log.append(scopeOf('open'), 1, [end(2)]);
    t.deepEqual(numbers(await followAll(log, 'open')), [1, 2]);
  });

  check('logs without an end are named once they are old, and are gone when they are dropped', async (t, log) => {
    const before = Date.now() - 60_000;
    const later = Date.now() + 60_000;
    await log.append(scopeOf('left'), 0, chunksOf(1, 3));
    await log.append(scopeOf('ended'), 0, [chunkOf(1), end(2)]);
    await log.append(scopeOf('ended-later'), 0, [chunkOf(1)]);
    await log.append(scopeOf('ended-later'), 1, [end(2)]);
    await log.append(scopeOf('followed'), 0, [chunkOf(1)]);
    const follower = listen(log, 'followed', 0);
    t.deepEqual(await log.unended(before), []);
    if (expires === 'by age') {
      t.deepEqual(await log.unended(later), []);
      await log.drop(['left']);
      t.is(await log.last('left'), 3);
    } else {
      t.deepEqual(await log.unended(later), ['left']);
      await log.drop(['left', 'followed']);
      t.is(await log.last('left'), 0);
      t.deepEqual(await log.unended(later), []);
      await log.append(scopeOf('left'), 0, [chunkOf(1), end(2)]);
      t.deepEqual(numbers(await followAll(log, 'left')), [1, 2]);
    }
    await log.append(scopeOf('followed'), 1, [end(2)]);
    t.deepEqual(numbers(await follower.done), [1, 2]);
  });

  test(`${name}: resuming after any number gives what an uncut log has after it`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }), async (batches) => {
        await using log = await open(newPlace());
        const total = batches.reduce((sum, size) => sum + size, 0);
        // Each number is resumed from while the run is still going, and again once it has ended.
        const live = range(0, total).map((after) => listen(log, 'r', after));
        let seq = 0;
        for (const size of batches) {
          const first = seq + 1;
          seq += size;
          await log.append(
            scopeOf('r'),
            first - 1,
            seq === total ? [...chunksOf(first, seq - 1), end(seq)] : chunksOf(first, seq),
          );
        }
        const uncut = plain(await followAll(log, 'r'));
        t.deepEqual(
          uncut.map(([number]) => number),
          range(1, total),
        );
        for (const after of range(0, total)) {
          t.deepEqual(plain(await followAll(log, 'r', after)), uncut.slice(after));
          if (after < total) t.deepEqual(plain((await live[after]?.done) ?? []), uncut.slice(after));
        }
      }),
      { numRuns: 15 },
    );
  });

  if (lose) losing(test, name, { open, lose, newPlace });
  if (!keeps) return;

  test(`${name}: logs are there when they are opened again, and go on where they stood`, async (t) => {
    const place = newPlace();
    {
      await using log = await open(place);
      await log.append(scopeOf('ended'), 0, [chunkOf(1), end(2)]);
      await log.append(scopeOf('open'), 0, chunksOf(1, 3));
      await log.append(scopeOf('open'), 3, chunksOf(4, 5));
    }
    await using log = await open(place);
    t.deepEqual(plain(await followAll(log, 'ended')), plain([chunkOf(1), end(2)]));
    t.deepEqual(plain([await log.end('ended', never)]), plain([end(2)]));
    await stale(t, log.append(scopeOf('ended'), 2, [chunkOf(3)]));
    t.is(await log.last('open'), 5);
    t.deepEqual(await log.unended(Date.now() + 60_000), expires === 'by age' ? [] : ['open']);
    await stale(t, log.append(scopeOf('open'), 4, [chunkOf(5)]));
    const follower = listen(log, 'open', 4);
    await log.append(scopeOf('open'), 5, [end(6)]);
    t.deepEqual(numbers(await follower.done), [5, 6]);
    t.deepEqual(numbers(await followAll(log, 'open')), range(1, 6));
  });

  test(`${name}: what an append resolved for is on record before the log is closed`, async (t) => {
    const place = newPlace();
    await using log = await open(place);
    await log.append(scopeOf('r'), 0, [chunkOf(1), end(2)]);
    await using beside = await open(place);
    t.deepEqual(plain(await followAll(beside, 'r')), plain([chunkOf(1), end(2)]));
  });
}

interface LosingPlaces extends Pick<RunLogPlaces, 'open'>, Required<Pick<RunLogPlaces, 'lose'>> {
  readonly newPlace: () => string;
}

/** What was lost under way may be gone, or put back: what is there begins with the first event and has no gap. */
function losing(test: TestFn, name: string, { open, lose, newPlace }: LosingPlaces): void {
  const large = 'x'.repeat(128 * 1024);
  for (const [title, own, others] of [
    ['one writer', chunksOf(1, 5), []],
    ['a writer that took it over', chunksOf(4, 5), chunksOf(1, 3)],
    ['a writer that has only just taken it over', [], chunksOf(1, 3)],
    ['a writer of much', range(1, 8).map((seq) => chunkOf(seq, large)), []],
    ['a writer that took much over', chunksOf(9, 10), range(1, 8).map((seq) => chunkOf(seq, large))],
    ['a writer that tells it again', chunksOf(ofThirdClaim + 1, ofThirdClaim + 5), []],
    [
      'a writer that took it over as it was told again',
      chunksOf(ofThirdClaim + 4, ofThirdClaim + 5),
      chunksOf(ofThirdClaim + 1, ofThirdClaim + 3),
    ],
  ] as const) {
    test(`${name}: a log of ${title} that is lost under way is there from its first event on, or not at all`, async (t) => {
      const place = newPlace();
      await using before = await open(place);
      await using log = await open(place);
      const all = [...others, ...own];
      const first = all[0]?.seq ?? 1;
      const behind = (seq: number): number => (seq === first ? 0 : seq - 1);
      for (const each of others) await before.append(scopeOf('r'), behind(each.seq), [each]);
      for (const each of own) await log.append(scopeOf('r'), behind(each.seq), [each]);
      const last = await log.last('r');
      await lose(place);
      const written = await log.append(scopeOf('r'), last, [chunkOf(last + 1), end(last + 2)]).then(
        () => true,
        () => false,
      );
      await using later = await open(place);
      const there = (await later.isEnded('r')) ? numbers(await followAll(later, 'r')) : [];
      t.deepEqual(there, written ? range(first, last + 2) : []);
      if (written) {
        t.is(await later.last('r'), last + 2);
        return;
      }
      // It can be told anew, or gone on with where whoever wrote it has put it back meanwhile.
      const mayBePutBack = others.length > 0 && own.length === 0;
      let stands = 0;
      await until(async () => {
        stands = await log.last('r');
        t.true(stands === 0 || (mayBePutBack && stands === last), String(stands));
        const next = stands === 0 ? first : stands + 1;
        return log.append(scopeOf('r'), stands, [chunkOf(next), end(next + 1)]).then(
          () => true,
          () => false,
        );
      });
      t.deepEqual(numbers(await followAll(later, 'r')), range(first, stands === 0 ? first + 1 : last + 2));
    });
  }
}

const chunkOf = (seq: number, text = `piece ${String(seq)}`): RunEvent => eventOf(seq, 'messages_chunk', text);
const end = (seq: number, kind: EventKind = 'on_chain_end'): RunEvent => eventOf(seq, kind, { last: seq });
const chunksOf = (first: number, last: number): RunEvent[] => range(first, last).map((seq) => chunkOf(seq));

const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

const numbers = (events: readonly RunEvent[]): number[] => events.map(({ seq }) => seq);
const byteSizes = (events: readonly RunEvent[]): number[] => events.map(({ data }) => data.byteLength);
const plain = (events: readonly RunEvent[]): [number, string, string][] =>
  events.map((event) => [event.seq, event.kind, chunkText(event)]);

async function stale(t: ExecutionContext, work: Promise<unknown>): Promise<void> {
  const error = await t.throwsAsync(work);
  t.true(isServiceError(error, 'Stale'), String(error));
}

async function followAll(log: RunLog, runId: string, after = 0): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const batch of log.follow(runId, after, never)) events.push(...batch.events);
  return events;
}

async function readUpTo(log: RunLog, runId: string, upTo: number): Promise<number[]> {
  const read: number[] = [];
  for await (const { events } of log.readUpTo(runId, upTo, never)) read.push(...numbers(events));
  return read;
}

async function rest(iterator: AsyncIterator<EventBatch>): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for (;;) {
    const item = await iterator.next();
    if (item.done) return events;
    events.push(...item.value.events);
  }
}

interface Follower {
  readonly seen: readonly RunEvent[];
  /** Everything seen, once the run has ended. */
  readonly done: Promise<readonly RunEvent[]>;
  /** Resolves when an event of this number was seen. */
  readonly reaches: (seq: number) => Promise<void>;
}

function listen(log: RunLog, runId: string, after = 0): Follower {
  const seen: RunEvent[] = [];
  const watchers = new Set<() => void>();
  const run = async (): Promise<readonly RunEvent[]> => {
    for await (const batch of log.follow(runId, after, never)) {
      seen.push(...batch.events);
      for (const check of watchers) check();
    }
    return seen;
  };
  return {
    seen,
    done: run(),
    reaches: async (seq) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!seen.some((each) => each.seq >= seq || isTerminal(each))) return;
          watchers.delete(check);
          resolve();
        };
        watchers.add(check);
        check();
      }),
  };
}
