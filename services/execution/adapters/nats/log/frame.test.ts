import test from 'ava';
import fc from 'fast-check';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { toDrafts, type Entry } from './drafts.ts';
import { createJoiner, fromPayload, toPayload } from './frame.ts';

const scope: RunScope = { runId: 'r', threadId: 't', requestId: 'q', isNewThread: true };

const event = (seq: number, text: string): RunEvent => ({
  ...{ seq, kind: 'messages_chunk', at: 1_790_000_000_000, messageId: 'm', role: 'assistant', node: 'n', step: 0 },
  ...(seq % 2 === 0 ? { emitted: true } : { message: Buffer.from(JSON.stringify({ text })) }),
  data: Buffer.from(JSON.stringify(text)),
});

const maxBytes = 600;
/** Bytes of what all events of a frame share. */
const sharedBytes = 100;

for (const layout of ['parts', 'lines'] as const)
  test(`what is appended is read from its frames of ${layout} unchanged, each frame within its bound`, (t) => {
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
        const drafts = toDrafts(entries, maxBytes, layout);
        for (const draft of drafts) for (const entry of draft.entries) entry.done();
        t.is(open.size, 0);
        t.true(drafts.every(({ body }) => body.byteLength <= maxBytes + sharedBytes));
        const join = createJoiner();
        const joined = drafts.flatMap(
          (draft) => join(fromPayload(toPayload({ ...draft, firstSliceSeq: 0, origin: 0, writer: 'w' })))?.events ?? [],
        );
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
  const [first, second] = toDrafts([entry(1, [large])], maxBytes, 'parts');
  const other = toDrafts([entry(1, [event(2, 'light')])], maxBytes, 'parts');
  const again = toDrafts([entry(2, [event(3, 'y'.repeat(1000))])], maxBytes, 'parts');
  const join = createJoiner();
  const frames = [first, second, ...other, second, ...again].flatMap((draft) => (draft ? [draft] : []));
  const events = frames.flatMap((draft) => join({ ...draft, firstSliceSeq: 0, origin: 0, writer: 'w' })?.events ?? []);
  t.deepEqual(
    events.map(({ seq }) => seq),
    [2, 3],
  );
});

test('a message that is no frame is refused', (t) => {
  for (const text of ['', 'x', '1 2 3\n', '1 1 0 1 0 0 0 w\n{}', '1 1 1 1 0 0 0 w later\n{}'])
    t.throws(() => fromPayload(Buffer.from(text)), { message: /not a frame/ });
});
