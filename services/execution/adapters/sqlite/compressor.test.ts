import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { openSqlite, type Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { Compressor } from './compressor.ts';
import { migrations, openStoredLogs, type StoredLogs } from './stored.ts';

const scopeOf = (runId: string): RunScope => ({ runId, threadId: 't', requestId: 'q', isNewThread: true });

const eventAt = (seq: number, { kind = 'messages_chunk', text = `"chunk ${String(seq)}"` } = {}): RunEvent => ({
  ...{ seq, kind, at: 1_700_000_000_000 + seq, node: 'agent', step: 0, messageId: 'm', role: 'assistant' },
  data: Buffer.from(text),
});

const openFile = (): Sqlite => openSqlite({ path: ':memory:', durability: 'normal', migrations });

/** Writes each batch as a row of its own; the last one ends the log. */
async function putRows(db: Sqlite, stored: StoredLogs, runId: string, batches: readonly RunEvent[][]): Promise<void> {
  for (const [index, events] of batches.entries())
    await db.write(() => stored.put({ scope: scopeOf(runId), events }, index === batches.length - 1));
}

function readAll(stored: StoredLogs, runId: string, after = 0): readonly RunEvent[] {
  const events: RunEvent[] = [];
  let batch = stored.read(runId, after);
  while (batch) {
    events.push(...batch.events);
    batch = stored.read(runId, events.at(-1)?.seq ?? after);
  }
  return events.map((event) => ({ ...event, data: Buffer.from(event.data) }));
}

const rowsIn = (db: Sqlite, table: 'events' | 'ended' | 'ends', where = 'true'): number =>
  Number(db.prepare(`SELECT count(*) AS count FROM ${table} WHERE ${where}`).get()?.['count']);

async function whenIdle(db: Sqlite, left = 0): Promise<void> {
  const endMs = Date.now() + 30_000;
  while (rowsIn(db, 'ends', 'is_left = 0') > left) {
    if (Date.now() > endMs) throw new Error('logs were not compressed within 30 s');
    await nextTurn();
  }
}

const end = { kind: 'on_chain_end', text: '{"status":"completed"}' };

test('a log that ends with its first events is compressed with them', async (t) => {
  using db = openFile();
  const stored = openStoredLogs(db);
  const events = [eventAt(1, { kind: 'metadata' }), eventAt(2), eventAt(3, end)];
  await putRows(db, stored, 'r', [events]);
  t.is(rowsIn(db, 'events') + rowsIn(db, 'ends'), 0);
  t.is(rowsIn(db, 'ended'), 1);
  t.deepEqual(readAll(stored, 'r'), events);
  t.is(stored.last('r'), 3);
  t.is(stored.end('r')?.kind, 'on_chain_end');
});

test('each log is compressed in its time, and one that has ended in the future at once', async (t) => {
  using db = openFile();
  const stored = openStoredLogs(db);
  const delayMs = 2000;
  for (const runId of ['old', 'future', 'new']) await putRows(db, stored, runId, [[eventAt(1)], [eventAt(2, end)]]);
  const endAt = (runId: string, at: number) => db.prepare('UPDATE ends SET at = ? WHERE run_id = ?').run(at, runId);
  await using compressor = new Compressor(db, delayMs);
  compressor.note();
  endAt('old', Date.now() - 10_000);
  endAt('future', Date.now() + 3_600_000);
  const newAt = Date.now() + delayMs;
  endAt('new', newAt);
  await whenIdle(db, 1);
  t.is(rowsIn(db, 'ends', "run_id = 'new'"), 1);
  await whenIdle(db);
  t.true(Date.now() >= newAt + delayMs);
  t.is(rowsIn(db, 'ended'), 3);
});

test('a log of many rows is compressed after its end and read as before, from any number', async (t) => {
  using db = openFile();
  const stored = openStoredLogs(db);
  const events = Array.from({ length: 1500 }, (_, index) => eventAt(index + 1, index === 1499 ? end : {}));
  await putRows(
    db,
    stored,
    'long',
    events.map((event) => [event]),
  );
  await putRows(db, stored, 'short', [[eventAt(1)], [eventAt(2, end)]]);
  await db.write(() => stored.put({ scope: scopeOf('under way'), events: [eventAt(1)] }, false));
  await using _ = new Compressor(db, 0);
  await whenIdle(db);
  t.is(rowsIn(db, 'events'), 1);
  t.true(rowsIn(db, 'ended', "run_id = 'long'") > 1);
  for (const after of [0, 1, 511, 512, 513, 1499]) t.deepEqual(readAll(stored, 'long', after), events.slice(after));
  t.is(stored.last('long'), 1500);
  t.is(stored.end('long')?.seq, 1500);
  t.is(stored.end('under way'), undefined);
});

test('a log that cannot be read, or holds a very long row, is left as it is, and others are compressed', async (t) => {
  using db = openFile();
  const stored = openStoredLogs(db);
  for (const runId of ['damaged', 'huge', 'sound']) {
    const text = runId === 'huge' ? JSON.stringify(randomBytes(1024 * 1024).toString('base64')) : '"short"';
    await putRows(db, stored, runId, [[eventAt(1)], [eventAt(2, { text })], [eventAt(3, end)]]);
  }
  db.prepare("UPDATE events SET bytes = x'00' WHERE run_id = 'damaged' AND first = 2").run();
  await using _ = new Compressor(db, 0);
  await whenIdle(db);
  t.is(rowsIn(db, 'events', "run_id = 'damaged'"), 3);
  t.is(rowsIn(db, 'events', "run_id = 'huge'"), 2);
  t.is(rowsIn(db, 'events', "run_id = 'sound'"), 0);
  for (const runId of ['huge', 'sound'])
    t.deepEqual(
      readAll(stored, runId).map(({ seq }) => seq),
      [1, 2, 3],
    );
  t.is(await stored.expire(Date.now() + 1, 2), 2);
  t.is(await stored.expire(Date.now() + 1, 2), 1);
  t.is(rowsIn(db, 'events') + rowsIn(db, 'ended') + rowsIn(db, 'ends'), 0);
});

test('logs expire in the order in which they ended, whenever they were compressed', async (t) => {
  using db = openFile();
  const stored = openStoredLogs(db);
  await putRows(db, stored, 'first', [[eventAt(1)], [eventAt(2, end)]]);
  db.prepare('UPDATE ends SET at = at - 60000').run();
  await putRows(db, stored, 'second', [[eventAt(1), eventAt(2, end)]]);
  await using _ = new Compressor(db, 0);
  await whenIdle(db);
  t.is(await stored.expire(Date.now() - 30_000, 10), 1);
  t.deepEqual(readAll(stored, 'first'), []);
  t.is(readAll(stored, 'second').length, 2);
});

test('a log that expires while it is compressed is gone', async (t) => {
  using db = openFile();
  const stored = openStoredLogs(db);
  await putRows(db, stored, 'r', [[eventAt(1)], [eventAt(2, end)]]);
  const expired = Promise.withResolvers<number>();
  await using _ = new Compressor(
    {
      prepare: db.prepare,
      // Its rows have been read by then.
      write: async (work) => {
        expired.resolve(await stored.expire(Date.now() + 1, 10));
        return db.write(work);
      },
    },
    0,
  );
  t.is(await expired.promise, 1);
  await db.write(() => undefined);
  t.is(rowsIn(db, 'events') + rowsIn(db, 'ended') + rowsIn(db, 'ends'), 0);
});
