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
