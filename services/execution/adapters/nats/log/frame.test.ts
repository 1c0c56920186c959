import test from 'ava';
import fc from 'fast-check';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { toDrafts, type Entry } from './drafts.ts';
import { createJoiner, fromPayload, toBatch, toPayload } from './frame.ts';

const scope: RunScope = { runId: 'r', threadId: 't', requestId: 'q', isNewThread: true };

const event = (seq: number, text: string): RunEvent => ({
  ...{ seq, kind: 'messages_chunk', at: 1_790_000_000_000, messageId: 'm', role: 'assistant', node: 'n', step: 0 },
  ...(seq % 2 === 0 ? { emitted: true } : { message: Buffer.from(JSON.stringify({ text })) }),
  data: Buffer.from(JSON.stringify(text)),
});

const maxBytes = 600;
/** Bytes of what all events of a frame share. */
const sharedBytes = 100;

test('what is appended is read from its frames unchanged, each frame within its bound', (t) => {
  const texts = fc.array(fc.array(fc.string({ unit: 'binary', maxLength: 1200 }), { maxLength: 6 }), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(texts, (appends) => {
      let seq = 0;
      const open = new Set<Entry>();
      const entries = appends.map((each) => {
        const entry: Entry = {
          scope,
          after: seq,
          events: each.map((text) => event(++seq, text)),
          bytes: 0,
          done: () => open.delete(entry),
        };
        open.add(entry);
        return entry;
      });
      const drafts = toDrafts(entries, maxBytes);
      for (const draft of drafts) for (const entry of draft.entries) entry.done();
      t.is(open.size, 0);
      t.true(drafts.every(({ body }) => body.byteLength <= maxBytes + sharedBytes));
      const join = createJoiner();
      const joined = drafts.flatMap((draft) => {
        const frame = fromPayload(toPayload({ ...draft, firstSliceSeq: 0, origin: 0, writer: 'w' }));
        return (frame && join(frame)?.events) ?? [];
      });
      const plain = (list: readonly RunEvent[]): unknown =>
        list.map(({ data, message, ...rest }) => [rest, String(data), String(message)]);
      t.deepEqual(plain(joined), plain(entries.flatMap(({ events }) => events)));
    }),
  );
});

test('slices that a dead writer left incomplete are dropped', (t) => {
  const large = event(2, 'x'.repeat(1000));
  const entry = (after: number, events: RunEvent[]): Entry => ({
    scope,
    after,
    events,
    bytes: 0,
    done: () => undefined,
  });
  const [first, second] = toDrafts([entry(1, [large])], maxBytes);
  const other = toDrafts([entry(1, [event(2, 'light')])], maxBytes);
  const again = toDrafts([entry(2, [event(3, 'y'.repeat(1000))])], maxBytes);
  const join = createJoiner();
  const frames = [first, second, ...other, second, ...again].flatMap((draft) => (draft ? [draft] : []));
  const events = frames.flatMap((draft) => join({ ...draft, firstSliceSeq: 0, origin: 0, writer: 'w' })?.events ?? []);
  t.deepEqual(
    events.map(({ seq }) => seq),
    [2, 3],
  );
});

test('slices of an event that is larger than any can be are dropped, and those of the next one are joined', (t) => {
  const slices = (seq: number, length: number): ReturnType<typeof toDrafts> => {
    const entry = { scope, after: seq - 1, events: [event(seq, 'x'.repeat(length))], bytes: 0, done: () => undefined };
    return toDrafts([entry], maxBytes);
  };
  const join = createJoiner(4 * maxBytes);
  const joined = [...slices(2, 5000), ...slices(3, 600)].map((draft) =>
    join({ ...draft, firstSliceSeq: 0, origin: 0, writer: 'w' }),
  );
  t.deepEqual(
    joined.flatMap((batch) => batch?.events.map(({ seq }) => seq) ?? []),
    [3],
  );
});

test('a message that is no frame is none, whatever its first line is', (t) => {
  const heads = [
    ...[
      '',
      'x',
      '\n',
      '\n\n',
      '1 2 3\n',
      'a b c d e f g w parts\n',
      '1 1 1 1 0 0 0 \n',
      '1 1 1 1 0 0 0 w later\n{}',
      '1 1 1 1 0 0 0 w\n{}',
    ],
    ...[
      '1 1 0 1 0 0 0 w parts\n{}',
      '1 1 2 1 0 0 0 w parts\n',
      '2 1 1 1 0 0 0 w parts\n',
      '0 0 1 1 0 0 0 w parts\n',
      '1 2 1 2 0 0 0 w parts\n',
    ],
    ...[
      '1e3 1e3 1 1 0 0 0 w parts\n',
      '-1 1 1 1 0 0 0 w parts\n',
      '1 1 1 1 0 0 0 w parts more\n',
      `${'1 '.repeat(1000)}\n`,
    ],
    ...[`1 ${'9'.repeat(16)} 1 1 0 0 0 w parts\n`, '1 1 1 10001 0 0 0 w parts\n'],
  ];
  for (const text of heads) t.is(fromPayload(Buffer.from(text)), undefined, text.slice(0, 40));
  fc.assert(fc.property(fc.uint8Array(), (bytes) => fromPayload(bytes) === undefined));
});

test('a frame whose body does not hold the events that it names has none', (t) => {
  const frame = { first: 1, last: 1, slice: 1, slices: 1, ended: false } as const;
  const plain = { scope, places: [{ kind: 'messages_chunk' }], events: [[0, 1, 2]] };
  const bodyOf = (header: unknown): Uint8Array => Buffer.from(`${JSON.stringify(header)}\n{}`);
  t.is(toBatch({ ...frame, body: bodyOf(plain) })?.events.length, 1);
  const others = [
    ...[
      null,
      {},
      [],
      { ...plain, events: [] },
      { ...plain, events: [[1, 1, 2]] },
      { ...plain, events: [[0, null, 2]] },
    ],
    ...[
      { ...plain, scope: {} },
      { ...plain, places: [{ kind: 'later' }] },
      { ...plain, events: [[0, 1, 0]] },
    ],
    ...[
      { ...plain, places: [{ kind: '__proto__' }] },
      { ...plain, places: [{ kind: 'messages_chunk', step: 'x' }] },
    ],
    { ...plain, places: [{ kind: 'on_chain_end' }] },
  ];
  for (const header of others) t.is(toBatch({ ...frame, body: bodyOf(header) }), undefined, JSON.stringify(header));
  t.is(toBatch({ ...frame, last: 2, body: bodyOf(plain) }), undefined);
  for (const text of ['', '\n', 'x', 'null', '{}', '[]\n', '{"metadata":null}'])
    t.is(toBatch({ ...frame, body: Buffer.from(text) }), undefined, text);
});
