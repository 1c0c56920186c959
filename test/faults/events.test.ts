import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import test from 'ava';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { eventOf, scopeOf } from '../events.ts';
import { until } from '../until.ts';
import { boundFiles, openSmallDisk } from './small-disk.ts';
import { withFaults } from './suite.ts';
import { byLoad } from '../by-load.ts';

const runs = 20;
const never = new AbortController().signal;
const text = 'x'.repeat(100_000);

const eventAt = (seq: number, kind: EventKind = 'messages_chunk'): RunEvent => eventOf(seq, kind, text);

withFaults(test, () => {
  test.serial(
    'an event log on a full disk goes on where it stood once there is room: whoever follows waits, and is given each event once',
    async (t) => {
      t.timeout(byLoad(30_000));
      const disk = await openSmallDisk(32);
      const ownFolder = await mkdtemp(join(tmpdir(), 'events-'));
      t.teardown(() => rm(ownFolder, { recursive: true }));
      if (typeof disk !== 'string') t.teardown(async () => disk[Symbol.asyncDispose]());
      else t.log(`${disk}: a bound on files stands in`);
      const folder = typeof disk === 'string' ? ownFolder : disk.folder;
      const reports: string[] = [];
      let works = 0;
      const health = { fails: (reason: string) => void reports.push(reason), works: () => works++ };
      await using log = openSqliteRunLog({ path: join(folder, 'execution.sqlite'), health });
      const names = Array.from({ length: runs }, (_, index) => `run-${String(index)}`);
      for (const runId of names) await log.append(scopeOf(runId), 0, [eventAt(1)]);
      const numbers = names.map((): number[] => []);
      const follow = async (runId: string, index: number): Promise<void> => {
        for await (const batch of log.follow(runId, 0, never))
          for (const { seq } of batch.events) numbers[index]?.push(seq);
      };
      const followers = Promise.all(names.map(follow));
      await until(() => numbers.every(({ length }) => length === 1));

      if (typeof disk === 'string') boundFiles(process.pid, 1);
      else disk.fill();
      const written = Promise.all(
        names.flatMap((runId) => [2, 3, 4].map(async (seq) => log.append(scopeOf(runId), seq - 1, [eventAt(seq)]))),
      );
      await until(() => reports.length >= runs);
      t.false(log.canWrite());
      t.true(
        numbers.every(({ length }) => length < 4),
        'what is not written is shown to nobody',
      );
      const start = performance.now();
      if (typeof disk === 'string') boundFiles(process.pid, 'unlimited');
      else disk.free();
      await written;
      t.true(log.canWrite());
      const tookMs = Math.round(performance.now() - start);
      await Promise.all(names.map(async (runId) => log.append(scopeOf(runId), 4, [eventAt(5, 'on_chain_end')])));
      await followers;
      t.deepEqual(
        numbers,
        names.map(() => [1, 2, 3, 4, 5]),
      );
      await until(() => works > 0);
      t.log(`the events of ${String(runs)} runs were written ${String(tookMs)} ms after there was room`);
    },
  );

  test.serial(
    'events that have waited too long for a full disk end their log alone: those of other runs are tried again',
    async (t) => {
      t.timeout(byLoad(30_000));
      const disk = await openSmallDisk(32);
      const ownFolder = await mkdtemp(join(tmpdir(), 'events-'));
      t.teardown(() => rm(ownFolder, { recursive: true }));
      if (typeof disk !== 'string') t.teardown(async () => disk[Symbol.asyncDispose]());
      const folder = typeof disk === 'string' ? ownFolder : disk.folder;
      await using log = openSqliteRunLog({ path: join(folder, 'execution.sqlite'), waitMs: 300 });
      if (typeof disk === 'string') boundFiles(process.pid, 1);
      else disk.fill();
      const start = performance.now();
      const appended = ['one', 'two', 'three'].map(async (runId) => log.append(scopeOf(runId), 0, [eventAt(1)]));
      const settled = await Promise.allSettled(appended);
      const tookMs = Math.round(performance.now() - start);
      if (typeof disk === 'string') boundFiles(process.pid, 'unlimited');
      else disk.free();
      t.true(settled.every(({ status }) => status === 'rejected'));
      t.true(log.canWrite(), 'nothing is tried again, so that only another run can show whether it can');
      await log.append(scopeOf('four'), 0, [eventAt(1)]);
      t.log(`the last of three logs was ended after ${String(tookMs)} ms`);
    },
  );
});
