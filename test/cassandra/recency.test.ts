import test from 'ava';
import type { Client } from 'cassandra-driver';
import type { SentStatement } from '@agent-workflow/threads/adapters/cassandra/client/client';
import type { ThreadKey } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { newHead, put } from '../contract/thread-rows.ts';
import { openClient, openKeyspace, type Keyspace } from '../servers/cassandra-keyspace.ts';
import { cassandra } from '../servers/cassandra.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import { large } from './scale.ts';
import { byLoad } from '../by-load.ts';

const hourMs = 3600 * 1000;

withServerForLong(test, cassandra, (server) => {
  let opening: Promise<Keyspace> | undefined;
  const open = (): Promise<Keyspace> => (opening ??= server().then(openKeyspace));
  test.after.always(async () => (await opening)?.[Symbol.asyncDispose]());

  test(`an owner with ${String(large)} threads is listed page by page, each in a few reads`, async (t) => {
    t.timeout(byLoad(600_000));
    const keyspace = await open();
    const place = { keyspace, owner: 'pages' };
    const asked: SentStatement[] = [];
    await using store = await keyspace.open({ onRequest: (each) => void asked.push(each) });
    const count = large;
    await seed(place, count, (index) => index * 90 * 1000);
    asked.length = 0;
    const ids: string[] = [];
    let pages = 0;
    for (let after: { updatedAt: number; threadId: string } | undefined; ; pages += 1) {
      const before = asked.length;
      const rows = await store.listThreads(place.owner, { limit: 200, ...(after ? { after } : {}) });
      t.true(asked.length - before <= 20, `${String(asked.length - before)} reads for page ${String(pages)}`);
      ids.push(...rows.map(({ threadId }) => threadId));
      const last = rows.at(-1);
      if (!last) break;
      after = { updatedAt: last.updatedAt, threadId: last.threadId };
    }
    t.log(`${String(pages)} pages of 200, ${String(asked.length)} reads`);
    t.deepEqual(
      ids,
      Array.from({ length: count }, (_, index) => nameOf(count - 1 - index)),
    );
  });

  test(`${String(large)} threads of one hour are listed by their newest in a few reads`, async (t) => {
    t.timeout(byLoad(600_000));
    const keyspace = await open();
    const place = { keyspace, owner: 'hour' };
    const asked: SentStatement[] = [];
    await using store = await keyspace.open({ onRequest: (each) => void asked.push(each) });
    await seed(place, large, (index) => Math.floor((index * hourMs) / large));
    asked.length = 0;
    const rows = await store.listThreads(place.owner, { limit: 50 });
    t.deepEqual(
      rows.map(({ threadId }) => threadId),
      Array.from({ length: 50 }, (_, index) => nameOf(large - 1 - index)),
    );
    t.true(asked.length <= 5, `${String(asked.length)} reads`);
  });

  test('an hour that all threads have left is forgotten, and taken up again by one that comes back', async (t) => {
    const keyspace = await open();
    const place = { keyspace, owner: 'left' };
    await using store = await keyspace.open();
    await put(store, { head: { ...newHead, updatedAt: 1 } }, at(place, 'a'));
    await put(store, { head: { ...newHead, updatedAt: 2 } }, at(place, 'b'));
    for (const hour of [3, 5, 9]) {
      await put(store, { head: { ...newHead, updatedAt: hour * hourMs } }, at(place, 'a'));
      await put(store, { head: { ...newHead, updatedAt: hour * hourMs + 1 } }, at(place, 'b'));
    }
    await until(async () => (await hoursOf(place)).join() === '9');
    t.deepEqual(await listed(store, place), ['b', 'a']);
    await put(store, { head: { ...newHead, updatedAt: 3 * hourMs } }, at(place, 'c'));
    t.deepEqual(await listed(store, place), ['b', 'a', 'c']);
  });

  test('a place in the list that a dead process left behind is taken away by the next changes', async (t) => {
    const keyspace = await open();
    const place = { keyspace, owner: 'dead' };
    await using store = await keyspace.open();
    await put(store, { head: { ...newHead, updatedAt: 20_000 } }, at(place, 'a'));
    const stale = await rowsOf(place);
    await put(store, { head: { ...newHead, updatedAt: 40_000 } }, at(place, 'a'));
    await putBack(place, stale);
    await put(store, { head: { ...newHead, updatedAt: 60_000 } }, at(place, 'a'));
    const rows = await store.listThreads(place.owner, { limit: 10 });
    t.deepEqual(
      rows.map(({ updatedAt }) => updatedAt),
      [60_000],
    );
    const live = (await rowsOf(place)).filter((row) => row['row'] !== '');
    t.is(live.length, 1);
  });
});

/** Each test has an owner of its own. */
interface Place {
  readonly keyspace: Keyspace;
  readonly owner: string;
}

const at = ({ owner }: Place, threadId: string): ThreadKey => ({ owner, threadId });
const nameOf = (index: number): string => `t${String(index).padStart(6, '0')}`;
const listed = async (store: ThreadStore, { owner }: Place): Promise<string[]> =>
  (await store.listThreads(owner, { limit: 10 })).map(({ threadId }) => threadId);

type Row = Readonly<Record<string, unknown>>;

async function withClient<T>({ keyspace: { options } }: Place, work: (client: Client) => Promise<T>): Promise<T> {
  const { contactPoints, localDataCenter, keyspace } = options;
  const reach = { contactPoints: [...contactPoints], localDataCenter, keyspace };
  await using client = openClient({ ...reach, encoding: { useBigIntAsLong: true } });
  return await work(client);
}

const insert = `INSERT INTO threads_by_recency (owner, hour, slot, thread_id, updated_at, row, metadata)
  VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`;

/** Rows as the store writes them, without the threads that they speak of: in bulk, for they are many. */
const seed = (place: Place, count: number, timeOf: (index: number) => number): Promise<void> =>
  withClient(place, async (client) => {
    const { owner } = place;
    const hours = new Set<number>();
    const lane = async (first: number): Promise<void> => {
      for (let index = first; index < count; index += 64) {
        const updatedAt = timeOf(index);
        const hour = Math.floor(updatedAt / hourMs);
        hours.add(hour);
        const row = JSON.stringify({ createdAt: updatedAt, updatedAt, version: 1 });
        const slot = BigInt(Math.floor(updatedAt / 10_000));
        const params = [owner, BigInt(hour), slot, nameOf(index), BigInt(updatedAt), row, Buffer.alloc(0), 1n];
        await client.execute(insert, params, { prepare: true });
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, first) => lane(first)));
    const announce = 'INSERT INTO hours_by_owner (owner, hour, noted) VALUES (?, ?, true)';
    for (const hour of hours) await client.execute(announce, [owner, BigInt(hour)], { prepare: true });
  });

const hoursOf = (place: Place): Promise<string[]> =>
  withClient(place, async (client) => {
    const { rows } = await client.execute('SELECT hour FROM hours_by_owner WHERE owner = ?', [place.owner], {
      prepare: true,
    });
    return rows.map((row) => String(row['hour']));
  });

const rowsOf = (place: Place): Promise<readonly Row[]> =>
  withClient(place, async (client) => {
    const params = [place.owner, 0n];
    const cql = 'SELECT * FROM threads_by_recency WHERE owner = ? AND hour = ?';
    return (await client.execute(cql, params, { prepare: true })).rows;
  });

const putBack = (place: Place, rows: readonly Row[]): Promise<void> =>
  withClient(place, async (client) => {
    for (const row of rows) {
      const columns = ['owner', 'hour', 'slot', 'thread_id', 'updated_at', 'row', 'metadata'];
      const later = BigInt(Date.now() * 1000);
      await client.execute(insert, [...columns.map((name) => row[name]), later], { prepare: true });
    }
  });

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isSo());)
    if (Date.now() > end) throw new Error('it never came to be so');
}
