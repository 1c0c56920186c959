import type { AgentRevision } from '@agent-workflow/protos/threads';
import test from 'ava';
import { loadOf } from './revision-loads.ts';

const unroutedAt = 1_000_000;
const draining: AgentRevision = {
  ...{ revision: 'v1', registeredAt: 0, state: 'draining', schemaHash: '', percent: 0 },
  unroutedAt,
};
const late = unroutedAt + 10_000;
const of = (runs: number, agent = 'support') => ({ agent, revision: 'v1', runs });

test('a revision is drained when two sweeps after its last route found no run of it', (t) => {
  const load = loadOf('support', draining, { counts: [of(3, 'other')], twoSweepsSince: late, workers: [] });
  t.deepEqual(load, { state: 'drained', openRuns: 0 });
});

test('a revision drains while one of the last two sweeps found a run, or began too early', (t) => {
  const drains = (counts: readonly ReturnType<typeof of>[], twoSweepsSince: number, openRuns: number): void => {
    t.deepEqual(loadOf('support', draining, { counts, twoSweepsSince, workers: [] }), { state: 'draining', openRuns });
  };
  drains([of(2)], late, 2);
  drains([of(0)], late, 0);
  drains([], late - 1, 0);
});

test('before two sweeps nothing is said of runs', (t) => {
  t.deepEqual(loadOf('support', draining, { counts: [], workers: [] }), { state: 'draining' });
  t.deepEqual(loadOf('support', draining, undefined), { state: 'draining' });
});

test('a revision in another state has its runs and keeps its state', (t) => {
  for (const state of ['registered', 'current', 'ramping', 'retired'] as const)
    t.is(loadOf('support', { ...draining, state }, { counts: [], twoSweepsSince: late, workers: [] }).state, state);
});

test('a revision has the workers that are known of it, also none and also before two sweeps', (t) => {
  const workers = [
    { agent: 'other', revision: 'v1', workers: 3 },
    { agent: 'support', revision: 'v1', workers: 0 },
  ];
  t.is(loadOf('support', draining, { counts: [], workers }).workers, 0);
  t.is(loadOf('support', draining, { counts: [], twoSweepsSince: late, workers }).workers, 0);
  t.is(loadOf('other', draining, { counts: [], workers }).workers, 3);
  t.false('workers' in loadOf('billing', draining, { counts: [], workers }));
});
