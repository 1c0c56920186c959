import { createFeeds, type Feeds } from '@agent-workflow/gateway/replies/feeds';
import { ndjson } from '@agent-workflow/gateway/replies/ndjson';
import type { StreamExtras } from '@agent-workflow/gateway/http/endpoint';
import { sse } from '@agent-workflow/gateway/replies/sse';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { unavailable } from '@agent-workflow/kit/errors';
import { within, type Call } from '@agent-workflow/protos/call';
import type { FollowRequest, RunEvent, RunEvents } from '@agent-workflow/protos/execution';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import { chunkText, eventOf as event, scopeOf } from '../events.ts';
import { byLoad } from '../by-load.ts';

const runId = 'run';
const owner = 'u:ada';

const eventOf = (seq: number, text: string, kind: EventKind = 'messages_chunk'): RunEvent => event(seq, kind, text);
const scope = scopeOf(runId);

const inSse = (events: readonly RunEvent[]): string =>
  events
    .map(
      (each) =>
        `${each.seq === 0 ? '' : `id: ${runId}:${String(each.seq)}\n`}event: ${each.kind}\ndata: ${chunkText(each, scope)}\n\n`,
    )
    .join('');

/** An event log, and how often and how far it was read. */
function openLog(t: ExecutionContext) {
  const log = openSqliteRunLog({ path: ':memory:' });
  t.teardown(() => log[Symbol.asyncDispose]());
  const counted = { follows: 0, open: 0, bytes: 0 };
  let last = 0;
  async function* follow(request: FollowRequest, { signal }: Call): AsyncGenerator<RunEvents, undefined> {
    counted.follows++;
    counted.open++;
    try {
      for await (const batch of log.follow(request.runId, request.after, signal)) {
        counted.bytes += batch.events.reduce((sum, { data }) => sum + data.byteLength, 0);
        yield batch;
      }
    } finally {
      counted.open--;
    }
  }
  const append = async (...texts: readonly string[]): Promise<void> => {
    const events = texts.map((text, index) => eventOf(last + index + 1, text));
    const before = last;
    last += events.length;
    await log.append(scope, before, events);
  };
  const end = async (): Promise<void> => log.append(scope, last, [eventOf(++last, 'over', 'on_chain_end')]);
  return { follow, append, end, counted };
}

const request = (after = 0): FollowRequest => ({ owner, runId, after });

async function readAll(
  reader: ReturnType<Feeds['open']>,
  pause: () => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const parts: Uint8Array[] = [];
  for (let taken = await reader.next(); taken; taken = await reader.next()) {
    // Copied: what a socket has sent is not held either.
    parts.push(Uint8Array.from(taken.bytes));
    await pause();
  }
  reader[Symbol.dispose]();
  return Buffer.concat(parts).toString();
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('readers of one run share one reading of its log and one encoding', async (t) => {
  const { follow, append, end, counted } = openLog(t);
  await append('a', 'b'.repeat(300_000));
  const feeds = createFeeds({ follow });
  const readers = Array.from({ length: 20 }, () => feeds.open(request(), sse, within(byLoad(10_000))));
  const taken = await Promise.all(readers.map((reader) => reader.next()));
  t.is(new Set(taken.map((each) => each?.bytes)).size, 1, 'the same bytes, not copies');
  const rest = Promise.all(readers.map((reader) => readAll(reader)));
  await append('c');
  await end();
  t.is(new Set(await rest).size, 1);
  t.deepEqual([counted.follows, counted.open, feeds.bufferedBytes()], [1, 0, 0]);
});

test('what is kept for readers that stop reading is bounded, and they have it all when they read on', async (t) => {
  const { follow, append, end, counted } = openLog(t);
  const texts = Array.from({ length: 40 }, (_, index) => String(index % 10).repeat(100_000));
  await append(...texts);
  await end();
  const totalBytes = 1024 * 1024;
  const feeds = createFeeds({ follow }, { segmentBytes: 64 * 1024, feedBytes: 256 * 1024, totalBytes });
  const slow = Array.from({ length: 10 }, () => feeds.open(request(), sse, within(byLoad(60_000))));
  const first = await Promise.all(slow.map(async (reader) => (await reader.next())?.bytes));
  const expected = inSse([
    ...texts.map((text, index) => eventOf(index + 1, text)),
    eventOf(41, 'over', 'on_chain_end'),
  ]);
  t.true((await readAll(feeds.open(request(), sse, within(byLoad(60_000))))) === expected);
  // A batch of the log is a read of at most half a megabyte, held by the log and encoded.
  t.true(feeds.bufferedBytes() <= totalBytes + 1024 * 1024, String(feeds.bufferedBytes()));
  const all = await Promise.all(
    slow.map(async (reader, index) => Buffer.from(first[index] ?? []).toString() + (await readAll(reader))),
  );
  t.deepEqual(
    all.map((text) => text === expected),
    slow.map(() => true),
  );
  t.deepEqual([counted.open, feeds.bufferedBytes()], [0, 0]);
  t.log(
    `the log was read ${String(counted.follows)} times for 11 readers, ${(counted.bytes / 4e6).toFixed(1)} times over`,
  );
});

test('an event that is a part of a larger read is kept at the cost of all of that read', async (t) => {
  const readBytes = 1024 * 1024;
  async function* follow(): AsyncGenerator<RunEvents, undefined> {
    const read = new Uint8Array(readBytes);
    const data = read.subarray(0, 2);
    data.set(Buffer.from('{}'));
    yield await Promise.resolve({ events: [{ ...eventOf(1, ''), data }], scope });
    yield { events: [eventOf(2, 'over', 'on_chain_end')] };
  }
  const feeds = createFeeds({ follow }, { segmentBytes: 64 * 1024, feedBytes: readBytes, totalBytes: 2 * readBytes });
  const readers = Array.from({ length: 5 }, (_, index) => feeds.open(request(-index), sse, within(byLoad(10_000))));
  for (const reader of readers) await reader.next();
  t.true(feeds.bufferedBytes() >= readBytes && feeds.bufferedBytes() <= 2 * readBytes, String(feeds.bufferedBytes()));
  for (const reader of readers) reader[Symbol.dispose]();
  t.is(feeds.bufferedBytes(), 0);
});

test('what a dialect has written of an event counts as what is kept for its readers', async (t) => {
  const writtenBytes = 1024 * 1024;
  const written: StreamExtras = {
    name: 'written',
    add: async function* (open, after) {
      for await (const { events, ...rest } of open(after))
        yield { ...rest, events: events.map((each) => ({ ...each, written: [Buffer.alloc(writtenBytes)] })) };
    },
  };
  const asWritten = { ...sse, toEventJson: () => () => ({ parts: [], size: 0 }) };
  const { follow, append } = openLog(t);
  await append('a');
  const feeds = createFeeds({ follow });
  using reader = feeds.open(request(), asWritten, within(byLoad(10_000)), written);
  await reader.next();
  t.true(feeds.bufferedBytes() >= writtenBytes, String(feeds.bufferedBytes()));
});

/** What stands before every other event of a reader that asks for more. */
const extraOf = ({ seq, data }: RunEvent): readonly RunEvent[] =>
  seq % 2 === 0 ? [{ seq: 0, kind: 'values', at: 0, data }] : [];

const extras: StreamExtras = {
  name: 'values',
  add: async function* (open, after) {
    for await (const { events, ...rest } of open(after))
      yield { ...rest, events: events.map((each) => ({ ...each, extras: extraOf(each) })) };
  },
};

const tiny = { segmentBytes: 50, feedBytes: 200, totalBytes: 600 };

test('every reader has every event once and in order, wherever it begins and however slow it is', async (t) => {
  const pace = fc.record({
    after: fc.nat(12),
    turns: fc.nat(6),
    framing: fc.constantFrom(sse, ndjson),
    wantsMore: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ maxLength: 400 }), { minLength: 1, maxLength: 12 }),
      fc.array(pace, { minLength: 1, maxLength: 8 }),
      async (texts, paces) => {
        const { follow, append, end, counted } = openLog(t);
        const feeds = createFeeds({ follow }, tiny);
        const events = [...texts.map((text, index) => eventOf(index + 1, text))];
        events.push(eventOf(events.length + 1, 'over', 'on_chain_end'));
        const reading = paces.map(async ({ after, turns: count, framing, wantsMore }) => {
          const from = Math.min(after, texts.length);
          const reader = feeds.open(request(from), framing, within(byLoad(20_000)), wantsMore ? extras : undefined);
          const text = await readAll(reader, async () => turns(count));
          const wanted = events.slice(from).flatMap((each) => (wantsMore ? [...extraOf(each), each] : [each]));
          const expected =
            framing === sse ? inSse(wanted) : wanted.map((each) => `${chunkText(each, scope)}\n`).join('');
          t.is(text, expected);
        });
        for (const text of texts) {
          await append(text);
          await turns(2);
        }
        await end();
        await Promise.all(reading);
        t.deepEqual([counted.open, feeds.bufferedBytes()], [0, 0]);
      },
    ),
    { numRuns: 60 },
  );
});

test('a reader whose caller goes away while it waits ends at once, and the last one ends the reading', async (t) => {
  const { follow, append, counted } = openLog(t);
  await append('a');
  const feeds = createFeeds({ follow });
  const leaving = new AbortController();
  const stays = feeds.open(request(), sse, within(byLoad(10_000)));
  const leaves = feeds.open(request(), sse, { ...within(byLoad(10_000)), signal: leaving.signal });
  await Promise.all([stays.next(), leaves.next()]);
  const waits = stays.next();
  const left = leaves.next();
  leaving.abort();
  await t.throwsAsync(left, { code: 'Cancelled' });
  await append('b');
  t.regex(Buffer.from((await waits)?.bytes ?? []).toString(), /"b"/);
  stays[Symbol.dispose]();
  await turns(5);
  t.deepEqual([counted.open, feeds.bufferedBytes()], [0, 0]);
});

test('a failure reaches every reader that waits, and whoever comes next reads anew', async (t) => {
  let isAway = true;
  async function* follow(): AsyncGenerator<RunEvents, undefined> {
    await turns(1);
    if (isAway) throw unavailable('the log is unavailable');
    yield { events: [eventOf(1, 'over', 'on_chain_end')], scope };
  }
  const feeds = createFeeds({ follow });
  const readers = Array.from({ length: 3 }, () => feeds.open(request(), sse, within(byLoad(10_000))));
  for (const reading of readers.map((reader) => reader.next())) await t.throwsAsync(reading, { code: 'Unavailable' });
  isAway = false;
  t.is(await readAll(feeds.open(request(), sse, within(byLoad(10_000)))), inSse([eventOf(1, 'over', 'on_chain_end')]));
});

test('another owner never shares a feed', async (t) => {
  const asked: string[] = [];
  async function* follow({ owner: who }: FollowRequest): AsyncGenerator<RunEvents, undefined> {
    asked.push(who);
    yield await Promise.resolve({ events: [eventOf(1, 'over', 'on_chain_end')], scope });
  }
  const feeds = createFeeds({ follow });
  const readers = ['u:ada', 'u:eve'].map((who) =>
    feeds.open({ owner: who, runId, after: 0 }, sse, within(byLoad(10_000))),
  );
  await Promise.all(readers.map((reader) => readAll(reader)));
  t.deepEqual(asked.toSorted(), ['u:ada', 'u:eve']);
});
