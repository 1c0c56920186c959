import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import { openPostgresThreadStore } from '@agent-workflow/threads/adapters/postgres/store';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { bytes, checkpoint, entry, key, newHead, owner, put, run, text } from '../contract/thread-rows.ts';
import { openClient, openSchema, type Schema } from '../servers/postgres-schema.ts';
import { postgres } from '../servers/postgres.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';

withServer(test, postgres, (server) => {
  const openOwn = async (): Promise<Schema> => openSchema(await server());

  const countUp = (store: ThreadStore): Promise<number> =>
    store.change(key, {}, ({ head }) => {
      const version = (head?.version ?? 0) + 1;
      return { change: { head: { ...newHead, version } }, reply: version };
    });

  test('ids and names may hold any character, and keep their order', async (t) => {
    await using schema = await openOwn();
    await using store = await schema.open();
    const ids = ['a', 'a\0', 'a\0b', 'a\x01', 'a\x01\x01', 'a\x02', 'ab'];
    for (const threadId of ids)
      await put(store, { head: newHead, messages: [{ ...entry(0), messageId: threadId }] }, { owner: '\0', threadId });
    const rows = await store.listThreads('\0', { limit: 10 });
    t.deepEqual(rows.map(({ threadId }) => threadId).toReversed(), ids);
    for (const threadId of ids) t.truthy(await store.getMessage({ owner: '\0', threadId }, threadId));
    await put(store, { head: newHead, fields: { 'x\0': bytes('1') } });
    t.deepEqual(Object.keys(await store.getFields(key)), ['x\0']);
  });

  test('a page of the runs of one agent reads no runs of others, also after many of them', async (t) => {
    await using schema = await openOwn();
    await using store = await schema.open();
    await using client = await openClient(schema.options);
    for (const agent of ['billing', 'support']) {
      const of = { owner, threadId: agent };
      await put(store, { head: { ...newHead, agent }, runs: [run(agent, { threadId: agent })] }, of);
    }
    const columns =
      'owner, ref, thread_id, request_id, status, granularity, is_new_thread, created_at, updated_at, options, answers, has_new_input, of_agent';
    const copyOf = (agent: string, at: number): string => `INSERT INTO runs (run_id, ${columns})
      SELECT '${agent}' || n, ${columns.replace('created_at', `${at} + n`)} FROM runs, generate_series(1, 20000) AS n WHERE run_id = '${agent}'`;
    await client.query(copyOf('billing', 0));
    await client.query(copyOf('support', 100_000));
    await client.query('ANALYZE');
    await client.query('SELECT pg_stat_force_next_flush()');
    const { rows: before } = await client.query<{ read: string }>(readRows);
    const { runs } = await store.listOwnRuns(owner, { limit: 100, agent: 'billing' });
    t.is(runs.length, 100);
    t.true(runs.every(({ head }) => head.agent === 'billing'));
    const read = async (): Promise<number> => {
      await client.query('SELECT pg_stat_clear_snapshot()');
      return Number((await client.query<{ read: string }>(readRows)).rows[0]?.read) - Number(before[0]?.read);
    };
    await until(async () => (await read()) > 0);
    t.true((await read()) <= 2 * runs.length, `${await read()} rows of runs were read`);
  });

  test('names and ids of kilobytes are found again', async (t) => {
    await using schema = await openOwn();
    await using store = await schema.open();
    const [long, longer] = ['n'.repeat(20_000), `${'n'.repeat(20_000)}!`];
    const toolCall = { runId: 'r1', callKey: long, result: bytes('1') };
    await put(store, {
      head: newHead,
      fields: { [long]: bytes('1'), [longer]: bytes('2') },
      messages: [{ ...entry(0), messageId: long }],
      applies: { id: long, reply: bytes('3'), at: Date.now(), keptMs: 60_000 },
      toolCall,
    });
    const seen = await store.change(
      key,
      { fields: [longer], messages: [long, longer], request: long, toolCall },
      (snapshot) => ({ reply: snapshot }),
    );
    t.deepEqual(Object.keys(seen.fields), [longer]);
    t.deepEqual([...seen.entries.keys()], [long]);
    t.is(text(seen.applied), '3');
    t.is(text(seen.toolCall?.result), '1');
  });

  test('replicas that change one thread at once each see the change before', async (t) => {
    await using schema = await openOwn();
    await using one = await schema.open();
    await using two = await schema.open();
    await using three = await schema.open();
    const seen = await Promise.all(
      Array.from({ length: 60 }, (_, index) => countUp([one, two, three][index % 3] as ThreadStore)),
    );
    t.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  });

  test('a thread of many rows is purged in transactions of a bounded size, whole, and alone', async (t) => {
    await using schema = await openOwn();
    let transactions = 0;
    await using store = await schema.open({ onRequest: ({ kind }) => (transactions += kind === 'change' ? 1 : 0) });
    const other = { owner, threadId: 'other' };
    await put(store, { head: newHead, messages: [entry(0)] }, other);
    const messages = Array.from({ length: 1200 }, (_, position) => entry(position));
    await put(store, { head: { ...newHead, nextPosition: 1200 }, messages, fields: { a: bytes('1') } });
    await put(store, { head: { ...newHead, version: 2, deleting: true }, checkpoint: checkpoint(1) });
    transactions = 0;
    await store.purge(key);
    t.is(transactions, 3);
    t.is(await store.getHead(key), undefined);
    await using client = await openClient(schema.options);
    for (const table of ['threads', 'messages'])
      t.is((await client.query(`SELECT 1 FROM ${table}`)).rowCount, 1, `${table}: those of the other thread`);
    for (const table of ['fields', 'checkpoints'])
      t.is((await client.query(`SELECT 1 FROM ${table}`)).rowCount, 0, table);
    t.truthy(await store.getMessage(other, 'm0'));
  });

  test('replicas that sweep at once drop each checkpoint once, and leave a thread that is being written alone', async (t) => {
    await using schema = await openOwn();
    const replicas = await Promise.all([schema.open(), schema.open(), schema.open()]);
    const [first] = replicas;
    for (let index = 0; index < 12; index += 1) {
      const at = { owner, threadId: `t${String(index)}` };
      for (let version = 1; version <= 3; version += 1)
        await put(first, { head: { ...newHead, version }, checkpoint: checkpoint(version) }, at);
    }
    await using client = await openClient(schema.options);
    await client.query('BEGIN');
    await client.query("SELECT 1 FROM threads WHERE thread_id = 't0' FOR UPDATE");
    const dropped = await Promise.all(replicas.map((store) => store.expireCheckpoints(3, 100)));
    t.is(
      dropped.reduce((sum, count) => sum + count, 0),
      11 * 2,
    );
    await client.query('ROLLBACK');
    t.is(await first.expireCheckpoints(3, 100), 2);
    t.is(await first.expireCheckpoints(3, 100), 0);
    for (const store of replicas) await store[Symbol.asyncDispose]();
  });

  test('a page of a list ends early where its rows are large, and no more than that is sent', async (t) => {
    await using schema = await openOwn();
    await using store = await schema.open();
    const mebibyte = Buffer.alloc(1024 * 1024, 97);
    await put(store, {
      head: newHead,
      messages: Array.from({ length: 12 }, (_, at) => ({ ...entry(at), json: mebibyte })),
    });
    const proxy = await openProxy(schema.options.port);
    t.teardown(() => proxy[Symbol.asyncDispose]());
    await using counted = await schema.open({ port: proxy.port });
    const before = proxy.received();
    t.is((await counted.listMessages(key, { limit: 1000, bytes: 2.5 * 1024 * 1024 })).length, 3);
    // The server sends each byte as two digits.
    t.true(proxy.received() - before < 3 * 2.1 * 1024 * 1024);
    t.is((await counted.getState(key, 2.5 * 1024 * 1024)).context.length, 2);
  });

  for (const [when, isForwarded] of [
    ['after the commit', true],
    ['before the commit', false],
  ] as const) {
    test(`a change whose connection breaks ${when} is made once`, async (t) => {
      await using schema = await openOwn();
      const proxy = await openProxy(schema.options.port);
      t.teardown(() => proxy[Symbol.asyncDispose]());
      await using store = await schema.open({ port: proxy.port });
      t.is(await countUp(store), 1);
      proxy.cutAtCommit(isForwarded);
      t.is(await countUp(store), 2);
      t.true(proxy.isCut());
      t.is((await store.getHead(key))?.version, 2);
    });
  }

  test('connections that broke while they were idle are replaced, and no caller sees it', async (t) => {
    await using schema = await openOwn();
    const proxy = await openProxy(schema.options.port);
    t.teardown(() => proxy[Symbol.asyncDispose]());
    await using store = await schema.open({ port: proxy.port });
    t.is(await countUp(store), 1);
    proxy.cutAll();
    t.is(await countUp(store), 2);
    proxy.cutAll();
    t.is((await Promise.all([1, 2, 3].map(() => countUp(store)))).length, 3);
  });

  test('a server that does not answer is Unavailable, and a fault of its own StorageFailed: neither says where it is', async (t) => {
    await using schema = await openOwn();
    await using store = await schema.open();
    const away = await t.throwsAsync<Error & { code?: string }>(
      openPostgresThreadStore({ ...schema.options, port: 1 }),
    );
    t.deepEqual([away.code, away.message], ['Unavailable', 'the record of threads is unavailable for now']);
    await using client = await openClient(schema.options);
    await client.query('ALTER TABLE runs RENAME TO former');
    const failed = await t.throwsAsync<Error & { code?: string }>(store.getRun(owner, 'r1'));
    t.deepEqual([failed.code, failed.message], ['StorageFailed', 'the store failed']);
    const written = await t.throwsAsync<Error & { code?: string }>(put(store, { head: newHead, runs: [run('r1')] }));
    t.deepEqual([written.code, written.message], ['StorageFailed', 'the store failed']);
    t.is(await store.getHead(key), undefined);
  });

  test('a thread that another session holds locked is waited for no longer than a statement may take', async (t) => {
    await using schema = await openOwn();
    await using store = await schema.open({ requestTimeoutMs: 3000, deadlineMs: 4000 });
    await put(store, { head: newHead });
    await using client = await openClient(schema.options);
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM threads FOR UPDATE');
    const error = await t.throwsAsync<Error & { code?: string }>(put(store, { head: newHead }));
    t.is(error.code, 'Unavailable');
    await client.query('ROLLBACK');
    await t.notThrowsAsync(put(store, { head: { ...newHead, version: 9 } }));
  });
});

interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Bytes that the server has sent. */
  readonly received: () => number;
  /** Breaks the next connection that commits: after the commit, whose answer is lost, or before it. */
  readonly cutAtCommit: (isForwarded: boolean) => void;
  readonly isCut: () => boolean;
  /** Breaks the connections that there are. */
  readonly cutAll: () => void;
}

/** Passes on what is sent to a server, until it is to cut a connection. */
async function openProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let received = 0;
  let cut: { readonly isForwarded: boolean } | undefined;
  let isCut = false;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let isSilent = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          client.destroy();
          upstream.destroy();
        });
    }
    client.on('data', (chunk: Buffer) => {
      if (cut && chunk.includes('COMMIT\0')) {
        const { isForwarded } = cut;
        [cut, isCut, isSilent] = [undefined, true, true];
        if (!isForwarded) {
          client.destroy();
          return;
        }
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (isSilent) client.destroy();
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    cutAtCommit: (isForwarded) => (cut = { isForwarded }),
    isCut: () => isCut,
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Rows of runs that were read so far. Sessions report them when they are idle. */
const readRows =
  "SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_user_tables WHERE relname = 'runs' AND schemaname = current_schema";
