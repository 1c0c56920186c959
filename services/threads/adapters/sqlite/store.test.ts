import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { openSqliteThreadStore } from './store.ts';
import { migrations } from './schema.ts';

const beforeCheckpoints = 2;

test('a file from before checkpoints could be read back is brought up: runs under way go on', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-threads-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const path = join(folder, 'threads.sqlite');
  {
    using old = openSqlite({ path, durability: 'full', migrations: migrations.slice(0, beforeCheckpoints) });
    await old.write(() => {
      for (const [threadId, status] of [
        ['running', 'running'],
        ['idle', null],
      ] as const)
        old
          .prepare(
            `INSERT INTO threads (owner, thread_id, created_at, updated_at, version, epoch, step, active_run, active_status,
               queue, next_position, open_calls, next, open_interrupts, claims, deleting)
             VALUES ('u:ada', ?, 1, 1, 5000, 2, 1, ?, ?, '[]', 1, '[]', '[]', '[]', 0, 0)`,
          )
          .run(threadId, status && 'r1', status);
      old.prepare("INSERT INTO checkpoints (ref, version, nodes, at) VALUES (1, 5000, '[]', 1)").run();
    });
  }
  await using store = openSqliteThreadStore({ path });
  const running = { owner: 'u:ada', threadId: 'running' };
  t.like(await store.getHead(running), { version: 5000, activeRun: 'r1', worker: '', foundVersion: 5000 });
  const idle = await store.getHead({ owner: 'u:ada', threadId: 'idle' });
  t.false('worker' in (idle ?? {}) || 'foundVersion' in (idle ?? {}));
  t.deepEqual(await store.listCheckpoints(running, { limit: 10 }), []);
});

const beforeSmallPages = 11;

test('a file whose rows stand in the order of threads is brought up: contexts with gaps, runs, checkpoints and requests', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-threads-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const path = join(folder, 'threads.sqlite');
  const inContext = [1, 0, 2, 0, 0, 2];
  {
    using old = openSqlite({ path, durability: 'full', migrations: migrations.slice(0, beforeSmallPages) });
    await old.write(() => {
      old
        .prepare(
          `INSERT INTO threads (owner, thread_id, created_at, updated_at, version, epoch, step, queue, next_position, open_calls, next,
             open_interrupts, claims, deleting, context_number, newest_run)
           VALUES ('u:ada', 't', 1, 1, 5000, 2, 1, '[]', 6, '[]', '[]', '[]', 0, 0, 2, 'r2')`,
        )
        .run();
      for (const [position, context] of inContext.entries())
        old
          .prepare(
            'INSERT INTO messages (ref, position, message_id, json, in_context, version) VALUES (1, ?, ?, ?, ?, 4000)',
          )
          .run(position, `m${String(position)}`, Buffer.from(String(position)), context);
      for (const [runId, createdAt] of [
        ['r1', 1],
        ['r2', 2],
      ] as const)
        old
          .prepare(
            `INSERT INTO runs (owner, run_id, ref, thread_id, request_id, status, granularity, is_new_thread, created_at, updated_at,
               options, answers, has_new_input) VALUES ('u:ada', ?, 1, 't', 'q', 'completed', 'low', 0, ?, 3, x'', '[]', 1)`,
          )
          .run(runId, createdAt);
      old
        .prepare(
          `INSERT INTO checkpoints (ref, version, source, nodes, next, at, undo) VALUES (1, 4000, 'input', '[]', '[]', 1, x'')`,
        )
        .run();
      old.prepare("INSERT INTO applied (ref, id, reply, until) VALUES (1, 'commitStep a', x'31', 9e12)").run();
      old.prepare("INSERT INTO applied (ref, id, reply, until) VALUES (1, 'commitStep b', x'32', 9e12)").run();
    });
  }
  await using store = openSqliteThreadStore({ path });
  const key = { owner: 'u:ada', threadId: 't' };
  const { context } = await store.getState(key);
  t.deepEqual(
    context.map((json) => Buffer.from(json).toString()),
    ['2', '5'],
  );
  t.is((await store.listMessages(key, { limit: 10 })).length, 6);
  t.is(Buffer.from((await store.getMessage(key, 'm3'))?.json ?? []).toString(), '3');
  t.deepEqual(
    (await store.listRuns(key, { limit: 10 })).map(({ runId }) => runId),
    ['r2', 'r1'],
  );
  t.is((await store.getRun('u:ada', 'r1'))?.createdAt, 1);
  t.is((await store.listCheckpoints(key, { limit: 10 })).length, 1);
  const applied = await store.change(key, { request: 'commitStep b' }, ({ applied: reply }) => ({ reply }));
  t.is(Buffer.from(applied ?? []).toString(), '2');
});

const beforeShortIds = 14;
const id = (n: number): string => `01a20ac1-5994-7000-b04e-${String(n).padStart(12, '0')}`;

test('a file whose ids are texts is brought up: ids of ours and of callers are found, listed in order and under way as before', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-threads-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const path = join(folder, 'threads.sqlite');
  const threads = [id(1), 'a thread of a caller', id(2), id(3).toUpperCase()];
  {
    using old = openSqlite({ path, durability: 'full', migrations: migrations.slice(0, beforeShortIds) });
    await old.write(() => {
      for (const [index, threadId] of threads.entries()) {
        const run = id(100 + index);
        const status = ['completed', 'running', 'sleeping', 'interrupted'][index] ?? '';
        const isActive = status === 'running' || status === 'sleeping';
        old
          .prepare(
            `INSERT INTO threads (owner, thread_id, created_at, updated_at, version, epoch, step, queue, next_position, open_calls, next,
               open_interrupts, claims, deleting, newest_run, active_run, active_status, worker, interrupted_run, found_version,
               checkpoints_since)
             VALUES ('u:ada', ?, 1, 7, 5000, 2, 1, '[]', 2, '[]', '[]', '[]', 0, 0, ?, ?, ?, ?, ?, 4000, 1)`,
          )
          .run(
            ...[threadId, run, isActive ? run : null, isActive ? status : null],
            ...[status === 'running' ? 'w1' : null, status === 'interrupted' ? run : null],
          );
        for (const [position, messageId] of [`m${String(index)}`, id(200 + index)].entries())
          old
            .prepare(
              "INSERT INTO messages (ref, position, message_id, json, in_context, version) VALUES (?, ?, ?, x'7b7d', 1, 5)",
            )
            .run(index + 1, position, messageId);
        old
          .prepare(
            `INSERT INTO runs (owner, run_id, ref, thread_id, request_id, status, granularity, is_new_thread, created_at, updated_at,
               options, answers, has_new_input, wake_at) VALUES ('u:ada', ?, ?, ?, ?, ?, 'low', 0, 1, 3, x'7b7d', '[]', 1, 9)`,
          )
          .run(run, index + 1, threadId, index === 0 ? 'a request of a caller' : id(300 + index), status);
        old
          .prepare(
            `INSERT INTO checkpoints (ref, version, source, run_id, nodes, next, at, undo) VALUES (?, 4000, 'input', ?, '[]', '[]', 1, x'')`,
          )
          .run(index + 1, index === 0 ? null : run);
      }
    });
  }
  await using store = openSqliteThreadStore({ path });
  const key = (index: number): { owner: string; threadId: string } => ({
    owner: 'u:ada',
    threadId: threads[index] ?? '',
  });
  for (const [index, threadId] of threads.entries()) {
    const runId = id(100 + index);
    const head = await store.getHead(key(index));
    t.like(head, { newestRun: runId, version: 5000, foundVersion: 4000 });
    t.is(head?.interruptedRun, index === 3 ? runId : undefined);
    t.is(head?.activeRun, index === 1 || index === 2 ? runId : undefined);
    t.is(head?.worker, index === 1 ? 'w1' : undefined);
    const requestId = index === 0 ? 'a request of a caller' : id(300 + index);
    t.like(await store.getRun('u:ada', runId), { runId, threadId, requestId, createdAt: 1 });
    t.like((await store.listRuns(key(index), { limit: 2 }))[0], { runId, threadId });
    t.deepEqual(
      (await store.listMessages(key(index), { limit: 3 })).map(({ messageId }) => messageId),
      [`m${String(index)}`, id(200 + index)],
    );
    t.is((await store.getMessage(key(index), id(200 + index)))?.version, 5);
    t.is((await store.listCheckpoints(key(index), { limit: 2 }))[0]?.runId, index === 0 ? undefined : runId);
  }
  const { runs } = await store.listOwnRuns('u:ada', { limit: 9 });
  t.deepEqual(
    runs.map(({ runId, threadId }) => [runId, threadId]).toReversed(),
    threads.map((threadId, index) => [id(100 + index), threadId]),
  );
  t.like((await store.listOpenRuns({ limit: 9 }))[0], { runId: id(101), threadId: threads[1], owner: 'u:ada' });
  t.deepEqual(await store.listSleepingRuns({ until: 9, limit: 9 }), [
    { owner: 'u:ada', threadId: id(2), runId: id(102), wakeAt: 9 },
  ]);
  const paged: string[] = [];
  for (let after: { updatedAt: number; threadId: string } | undefined; ;) {
    const [row] = await store.listThreads('u:ada', { limit: 1, ...(after && { after }) });
    if (!row) break;
    paged.push(row.threadId);
    after = row;
  }
  t.deepEqual(paged.toSorted(), threads.toSorted());
});
