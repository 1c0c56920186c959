import test from 'ava';
import type { RegisteredAgent } from '@agent-workflow/protos/threads';
import { openInProcessWorkerLeases } from '../adapters/in-process/leases.ts';
import { countDriven } from './active-runs.ts';
import { createLiveWorkers } from './live-workers.ts';

const revisionOf = (revision: string, state: 'current' | 'registered' | 'retired') => ({
  ...{ revision, state, registeredAt: 0, schemaHash: '', percent: 0 },
});
const support: RegisteredAgent = {
  agent: 'support',
  routing: { version: 1, current: 'v1' },
  revisions: [revisionOf('v0', 'retired'), revisionOf('v1', 'current'), revisionOf('v2', 'registered')],
};

async function openReplica(showMs = 0) {
  const leases = openInProcessWorkerLeases();
  await leases.renew('api', 60_000);
  const { read } = createLiveWorkers({ leases, workerId: 'api', registry: { last: () => [support] }, showMs });
  const counts = () => Object.fromEntries(read().map(({ revision, workers }) => [revision, workers]));
  return { leases, counts };
}

test('idle and busy workers count for the revision that they hold, while their leases hold', async (t) => {
  const { leases, counts } = await openReplica();
  t.deepEqual(counts(), { v1: 0, v2: 0 });
  const run = { owner: 'u:ada', threadId: 't', runId: 'r', agent: 'support', revision: 'v1' };
  for (const [workerId, runs] of [
    ['idle', []],
    ['busy', [run, run]],
  ] as const) {
    await leases.renew(workerId, 60_000);
    leases.showDriven(workerId, countDriven({ agents: ['support', 'office'], revision: 'v1' }, runs));
  }
  t.deepEqual(counts(), { v1: 2, v2: 0 });
  await leases.release('busy');
  t.deepEqual(counts(), { v1: 1, v2: 0 });
});

test('a worker without a revision holds none', async (t) => {
  const { leases, counts } = await openReplica();
  await leases.renew('w', 60_000);
  leases.showDriven('w', countDriven({ agents: ['support'] }, []));
  t.deepEqual(counts(), { v1: 0, v2: 0 });
});

test('nothing is known before workers had time to show themselves, nor while own heartbeats do not arrive', async (t) => {
  t.deepEqual((await openReplica(60_000)).counts(), {});
  const { leases, counts } = await openReplica();
  await leases.release('api');
  t.deepEqual(counts(), {});
});
