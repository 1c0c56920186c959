import test, { type ExecutionContext } from 'ava';
import type { LogEntry, ThreadKey } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { kinds } from '@agent-workflow/threads/adapters/cassandra/rows/schema';
import type { SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import { bytes, entry, newHead, owner, positionsOf, put, text } from '../contract/thread-rows.ts';
import { openClient, openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { large } from './scale.ts';
import { byLoad } from '../by-load.ts';

/** Small, so that a log rolls over many times. */
const sizes = { width: 8, maxRows: 24, maxBytes: 1024 * 1024, keptRows: 8 };

withServerForLong(test, cassandra, (server) => {
  let opening: Promise<Keyspace> | undefined;
  const open = (): Promise<Keyspace> => (opening ??= server().then(openKeyspace));
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());

  test('a log that rolls over while many write it, and others read it, is what was written', async (t) => {
    const keyspace = await open();
    const key = { owner, threadId: 'many' };
    await using one = await keyspace.open({ sizes });
    await using other = await keyspace.open({ sizes });
    await put(one, { head: newHead }, key);
    const model = new Map<number, string>();
    let isOver = false;
    const reading = Promise.all([
      readOn(t, { store: one, key, isOver: () => isOver }),
      readContextOn(t, { store: other, key, isOver: () => isOver }),
    ]);
    const writers = [one, other, one, other].map((store, index) =>
      write(store, model, { key, writer: index, writes: 80 }),
    );
    await Promise.all(writers);
    isOver = true;
    const [pages, contexts] = await reading;
    t.log(`${String(model.size)} entries, ${String(pages)} pages and ${String(contexts)} contexts read meanwhile`);

    const ordered = [...model].toSorted(([a], [b]) => a - b).filter(([, json]) => json !== '');
    const shown = (entries: readonly LogEntry[]): [number, string | undefined][] =>
      entries.map(({ position, json }) => [position, text(json)]);
    t.deepEqual(shown(await one.listMessages(key, { limit: 10_000 })), ordered);
    t.deepEqual(shown(await one.listMessages(key, { limit: 10_000, newestFirst: true })), ordered.toReversed());
    t.deepEqual(shown((await other.listContext(key, { maxBytes })).entries), ordered);
    t.deepEqual(shown(await other.getEntries(key, [...model.keys()])), ordered);
    for (const [position, json] of model) {
      const found = await one.getMessage(key, `m${String(position)}`);
      t.is(text(found?.json), json === '' ? undefined : json);
    }
    t.true((await segmentsOf(keyspace, key)) > 20, 'the log has not rolled over');
  });

  test('a log that is cut off where it has rolled over grows again without what stood there', async (t) => {
    const keyspace = await open();
    const key = { owner, threadId: 'cut' };
    await using store = await keyspace.open({ sizes });
    for (let at = 0; at < 100; at += 10)
      await put(store, { head: newHead, messages: range(at, at + 10).map((position) => entry(position)) }, key);
    await until(async () => (await segmentsOf(keyspace, key)) > 8);
    await put(store, { head: newHead, deletedFrom: 20 }, key);
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 1000 })), range(0, 20));
    t.is(await store.getMessage(key, 'm20'), undefined);
    const again = (position: number): LogEntry => ({ ...entry(position), messageId: `n${String(position)}` });
    // Every third place stays empty: what stood there before must not come back with the next roll-over.
    const taken = range(20, 200).filter((position) => position % 3 > 0);
    for (const position of taken) await put(store, { head: newHead, messages: [again(position)] }, key);
    await until(async () => (await segmentsOf(keyspace, key)) > 20);
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 1000 })), [...range(0, 20), ...taken]);
    t.deepEqual(
      (await store.listContext(key, { maxBytes })).entries.map(({ messageId }) => messageId),
      [...range(0, 20).map((position) => `m${String(position)}`), ...taken.map((position) => `n${String(position)}`)],
    );
    await put(store, { head: { ...newHead, deleting: true } }, key);
    await store.purge(key);
    t.is(await segmentsOf(keyspace, key), 0);
  });

  test(`a page of a log of ${String(large)} costs as much at its beginning and in its middle as at its end`, async (t) => {
    t.timeout(byLoad(600_000));
    const keyspace = await open();
    const key = { owner, threadId: 'long' };
    const asked: SentStatement[] = [];
    await using writer = await keyspace.open();
    // One that has nothing else to do: what the writer does after its calls is not counted.
    await using store = await keyspace.open({ onRequest: (each) => void asked.push(each) });
    const count = large;
    for (let at = 0; at < count; at += 2000) {
      const messages = range(at, at + 2000).map((position) => entry(position));
      const removedFromContext = at + 2000 < count ? positionsOf(messages) : positionsOf(messages.slice(0, -20));
      await put(writer, { head: { ...newHead, version: at + 1 }, messages, removedFromContext }, key);
    }
    await until(async () => (await rowsInThread(keyspace, key)) <= 4096);
    for (const after of [-1, 5000, 10_240, count - 51]) {
      asked.length = 0;
      const entries = await store.listMessages(key, { limit: 50, after });
      t.deepEqual(positionsOf(entries), range(after + 1, after + 51));
      t.true(asked.length <= 5, `${String(asked.length)} requests after ${String(after)}`);
    }
    for (const after of [undefined, count - 50, 10_241, 51]) {
      asked.length = 0;
      const entries = await store.listMessages(key, { limit: 50, after, newestFirst: true });
      const end = after ?? count;
      t.deepEqual(positionsOf(entries), range(end - 50, end).toReversed());
      t.true(asked.length <= 5, `${String(asked.length)} requests before ${String(end)}`);
    }
    asked.length = 0;
    t.deepEqual(positionsOf((await store.listContext(key, { maxBytes })).entries), range(count - 20, count));
    t.true(asked.length <= 4, `${String(asked.length)} requests for the context`);
    asked.length = 0;
    await put(store, { head: { ...newHead, version: count }, messages: [entry(count)] }, key);
    t.true(asked.length <= 2, `${String(asked.length)} requests for a message more`);
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: count + 1 })), range(0, count + 1));
    t.deepEqual(positionsOf(await store.listMessages(key, { limit: 3, offset: 15_000 })), range(15_000, 15_003));
    const fromEnd = { limit: 3, offset: count - 4999, newestFirst: true };
    t.deepEqual(positionsOf(await store.listMessages(key, fromEnd)), [4999, 4998, 4997]);
  });
});

/** More than any context here has. */
const maxBytes = 64 * 1024 * 1024;

const range = (first: number, end: number): number[] =>
  Array.from({ length: end - first }, (_, index) => first + index);

interface Share {
  readonly key: ThreadKey;
  readonly writer: number;
  readonly writes: number;
}

/** Appends, and now and then replaces or deletes what stands somewhere in the log; the model is changed in the same decisions. */
async function write(store: ThreadStore, model: Map<number, string>, { key, writer, writes }: Share): Promise<void> {
  for (let at = 0; at < writes; at += 1) {
    const json = `"${String(writer)}/${String(at)}"`;
    const placed = (position: number): LogEntry => ({ ...entry(position), json: bytes(json) });
    const [position, value] = await store.change(key, {}, ({ head = newHead }) => {
      const old = Math.floor((head.nextPosition * ((at * 7) % 10)) / 10);
      const next = { ...head, version: head.version + 1 };
      // Places below 8 are one writer's own, so that the order of two writers does not matter to the model.
      if (at % 5 === 3 && old % 4 === writer)
        return { change: { head: next, messages: [placed(old)] }, reply: [old, json] };
      if (at % 7 === 5 && old % 4 === writer) return { change: { head: next, deleted: [old] }, reply: [old, ''] };
      const end = head.nextPosition;
      return { change: { head: { ...next, nextPosition: end + 1 }, messages: [placed(end)] }, reply: [end, json] };
    });
    model.set(position, value);
  }
}

interface Watched {
  readonly store: ThreadStore;
  readonly key: ThreadKey;
  readonly isOver: () => boolean;
}

/** Every page holds all places in order, except those whose message was deleted. */
async function readOn(t: ExecutionContext, { store, key, isOver }: Watched): Promise<number> {
  let pages = 0;
  for (; !isOver(); pages += 1) {
    const next = (await store.getHead(key))?.nextPosition ?? 0;
    const positions = positionsOf(await store.listMessages(key, { limit: 10_000 }));
    t.deepEqual(
      positions,
      positions.toSorted((a, b) => a - b),
    );
    t.true(positions.length >= next * 0.6, `${String(positions.length)} of ${String(next)} places are there`);
  }
  return pages;
}

/** Every message of the log is in the context here: the two are read in different ways. */
async function readContextOn(t: ExecutionContext, { store, key, isOver }: Watched): Promise<number> {
  let contexts = 0;
  for (; !isOver(); contexts += 1) {
    const next = (await store.getHead(key))?.nextPosition ?? 0;
    const { context } = await store.getState(key);
    t.true(context.length >= next * 0.6, `${String(context.length)} of ${String(next)} messages are there`);
  }
  return contexts;
}

async function segmentsOf({ options }: Keyspace, { threadId }: ThreadKey): Promise<number> {
  const { contactPoints, localDataCenter, keyspace } = options;
  await using client = openClient({ contactPoints: [...contactPoints], localDataCenter, keyspace });
  const { rows } = await client.execute('SELECT DISTINCT owner, thread_id, life, segment FROM segment');
  return rows.filter((row) => row['thread_id'] === threadId).length;
}

async function rowsInThread({ options }: Keyspace, { owner, threadId }: ThreadKey): Promise<number> {
  const { contactPoints, localDataCenter, keyspace } = options;
  await using client = openClient({ contactPoints: [...contactPoints], localDataCenter, keyspace });
  const cql = `SELECT count(*) FROM thread WHERE owner = ? AND thread_id = ? AND kind = ${String(kinds.log)}`;
  const { rows } = await client.execute(cql, [owner, threadId], { prepare: true });
  return Number(rows[0]?.['count']);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isSo());)
    if (Date.now() > end) throw new Error('it never came to be so');
}
