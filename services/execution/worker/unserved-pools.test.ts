import test from 'ava';
import { createLog, type Log } from '@agent-workflow/kit/log';
import { openInProcessWorkerLeases } from '../adapters/in-process/leases.ts';
import { createOpenRunCounts, type OpenRunCounts } from './open-run-counts.ts';
import { createUnservedPools } from './unserved-pools.ts';

type Seen = Parameters<ReturnType<OpenRunCounts['begin']>['add']>[0];

const lateMs = 20_000;
const v1: Seen = { agent: 'support', revision: 'v1', status: 'queued', runnable: true, createdAt: 0 };
const v2: Seen = { ...v1, revision: 'v2' };

/** A replica with the leases of all workers, and what it logs: a line as level, agent, revision and number of runs. */
async function openReplica(leases = openInProcessWorkerLeases()) {
  const clock = { ms: 0 };
  const lines: string[] = [];
  const at =
    (level: string) =>
    ({ agent, revision = 'none', runs = '' }: Readonly<Record<string, unknown>>): void =>
      void lines.push([level, agent, revision, runs].join(' ').trim());
  const log = Object.assign(Object.create(createLog('test', 'silent')) as Log, { warn: at('warn'), info: at('info') });
  await leases.renew('api', 60_000);
  const pools = createUnservedPools({ leases, workerId: 'api', log, elapsed: () => clock.ms });
  const sweep = (...runs: readonly Seen[]): void => {
    const counting = createOpenRunCounts(pools.see).begin({ at: 0, registered: [] });
    for (const run of runs) counting.add(run);
    counting.end();
  };
  return { leases, clock, lines, sweep };
}

/** A worker that lives and shows what it holds. */
async function showWorker(
  leases: ReturnType<typeof openInProcessWorkerLeases>,
  workerId: string,
  revisions: readonly { readonly revision?: string; readonly runs: number }[],
): Promise<void> {
  await leases.renew(workerId, 60_000);
  leases.showDriven(workerId, [{ agent: 'support', revisions }]);
}

test('a pool whose runs wait without a worker is logged once, and once when that has ended, however many sweeps there are', async (t) => {
  const { leases, clock, lines, sweep } = await openReplica();
  await showWorker(leases, 'w1', [{ revision: 'v1', runs: 0 }]);
  for (clock.ms = 0; clock.ms < lateMs; clock.ms += 2000) sweep(v1, v2, v2);
  t.deepEqual(lines, []);
  for (let count = 0; count < 5; count++) sweep(v1, v2, v2, v2);
  t.deepEqual(lines, ['warn support v2 3']);
  await showWorker(leases, 'w2', [{ revision: 'v2', runs: 0 }]);
  for (let count = 0; count < 5; count++) sweep(v1, v2);
  t.deepEqual(lines, ['warn support v2 3', 'info support v2']);
  await leases.release('w2');
  sweep(v2);
  clock.ms += lateMs;
  sweep(v2);
  t.deepEqual(lines.slice(2), ['warn support v2 1']);
});

test('each of three replicas sees the workers of all, and logs a pool without one once', async (t) => {
  const first = await openReplica();
  const replicas = [first, await openReplica(first.leases), await openReplica(first.leases)];
  await showWorker(first.leases, 'w1', [{ revision: 'v1', runs: 0 }]);
  for (const { clock, lines, sweep } of replicas) {
    for (clock.ms = 0; clock.ms < 3 * lateMs; clock.ms += lateMs) sweep(v1, v2);
    t.deepEqual(lines, ['warn support v2 1']);
  }
});

test('a pool that is scaled from none within the usual time is not logged', async (t) => {
  const { leases, clock, lines, sweep } = await openReplica();
  sweep(v2);
  clock.ms = lateMs - 1;
  sweep(v2);
  await showWorker(leases, 'w2', [{ revision: 'v2', runs: 1 }]);
  clock.ms = 2 * lateMs;
  sweep({ ...v2, status: 'running', workerId: 'w2' });
  t.deepEqual(lines, []);
});

test('runs of a dead worker wait, too, and those that wait beside a busy one do not lack it', async (t) => {
  const { leases, clock, lines, sweep } = await openReplica();
  // It has not shown yet what it drives.
  await leases.renew('old', 60_000);
  const driven: Seen = { ...v1, status: 'running', workerId: 'old' };
  for (clock.ms = 0; clock.ms < 3 * lateMs; clock.ms += lateMs) sweep(v1, driven);
  t.deepEqual(lines, []);
  await leases.release('old');
  for (clock.ms = 0; clock.ms < 3 * lateMs; clock.ms += lateMs) sweep(driven);
  t.deepEqual(lines, ['warn support v1 1']);
});

test('nothing is concluded while this replica receives no heartbeats', async (t) => {
  const { leases, clock, lines, sweep } = await openReplica();
  sweep(v1);
  await leases.release('api');
  clock.ms += lateMs;
  sweep(v1);
  await leases.renew('api', 60_000);
  clock.ms += 1;
  sweep(v1);
  t.deepEqual(lines, [], 'workers that are there show themselves first');
  clock.ms += lateMs;
  sweep(v1);
  t.deepEqual(lines, ['warn support v1 1']);
});

test('runs without a revision lack a worker only where none holds their agent', async (t) => {
  const { leases, clock, lines, sweep } = await openReplica();
  const { revision: _, ...unnamed } = v1;
  await showWorker(leases, 'w1', [{ revision: 'v1', runs: 0 }]);
  for (clock.ms = 0; clock.ms < 3 * lateMs; clock.ms += lateMs) sweep(unnamed);
  t.deepEqual(lines, []);
  await leases.release('w1');
  for (clock.ms = 0; clock.ms < 3 * lateMs; clock.ms += lateMs) sweep(unnamed);
  t.deepEqual(lines, ['warn support none 1']);
});
