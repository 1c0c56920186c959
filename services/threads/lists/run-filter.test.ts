import test from 'ava';
import type { RunFilter } from '@agent-workflow/protos/threads';
import type { OwnRunRow } from '../ports/lists.ts';
import { runTest, type RunSelection } from './run-filter.ts';

const now = 100_000;

const run = (parts: Partial<OwnRunRow> = {}, head: Partial<OwnRunRow['head']> = {}): OwnRunRow => ({
  ...{ runId: 'r1', threadId: 't1', requestId: 'q', status: 'completed', granularity: 'low', isNewThread: false },
  ...{ createdAt: 1000, updatedAt: 5000, startedAt: 2000 },
  ...parts,
  head: { epoch: 1, next: [], ...head },
});

const failed = (message: string, node?: string) => ({
  status: 'failed' as const,
  end: {
    ...{ status: 'failed' as const, iterations: 1, recursionLimitReached: false },
    error: { code: 'NodeFailed' as const, message, ...(node !== undefined && { node }) },
  },
});

type Filters = RunFilter & Partial<Omit<RunSelection, 'filter'>>;

const passes = ({ statuses = [], agent, ...filter }: Filters, one: OwnRunRow): boolean =>
  runTest({ statuses, ...(agent !== undefined && { agent }), filter }, now)(one);

test('a run passes without filters, and has to pass each that is given', (t) => {
  t.true(passes({}, run()));
  t.true(passes({ statuses: ['failed', 'completed'], agent: 'default' }, run()));
  t.false(passes({ statuses: ['completed'], agent: 'billing' }, run()));
  t.true(passes({ agent: 'billing' }, run({}, { agent: 'billing' })));
});

test('a time range holds its beginning and not its end', (t) => {
  t.true(passes({ from: 1000, to: 1001 }, run()));
  t.false(passes({ from: 1001 }, run()));
  t.false(passes({ to: 1000 }, run()));
});

test('the revision is that of the head while the run holds its thread', (t) => {
  t.true(passes({ revision: 'a' }, run({ revision: 'a' })));
  const held = run({ revision: 'a' }, { activeRun: 'r1', revision: 'b' });
  t.deepEqual([passes({ revision: 'a' }, held), passes({ revision: 'b' }, held)], [false, true]);
});

test('a duration counts from the start, else from the acceptance, up to the end, else up to now', (t) => {
  const { end } = failed('no');
  const took = (parts: Partial<OwnRunRow>, ms: number): boolean =>
    passes({ minDurationMs: ms, maxDurationMs: ms }, run(parts));
  t.true(took({ end }, 3000));
  t.true(took({ status: 'running' }, 98_000));
  const { startedAt: _, ...unstarted } = run({ status: 'queued' });
  t.true(passes({ minDurationMs: 99_000, maxDurationMs: 99_000 }, unstarted));
  t.true(took({ end, startedAt: 9000 }, 0));
});

test('a node is the one that failed, or one at which the run stands', (t) => {
  t.true(passes({ node: 'fetch' }, run(failed('no', 'fetch'))));
  t.true(passes({ node: 'outer' }, run(failed('no', 'outer/inner'))));
  t.false(passes({ node: 'out' }, run(failed('no', 'outer/inner'))));
  const next = { next: ['ask'] };
  t.true(passes({ node: 'ask' }, run({ status: 'running' }, { activeRun: 'r1', ...next })));
  t.true(passes({ node: 'ask' }, run({ status: 'interrupted' }, { interruptedRun: 'r1', ...next })));
  for (const head of [{ interruptedRun: 'r0' }, { interruptedRun: 'r1', activeRun: 'r2' }])
    t.false(passes({ node: 'ask' }, run({ status: 'interrupted' }, { ...head, ...next })));
});

test('texts are found in error, title and ids, whatever their case', (t) => {
  const one = run({ ...failed('The price FEED did not answer'), runId: '0A1' }, { title: 'Weekly prices' });
  t.true(passes({ error: 'price feed' }, one));
  t.false(passes({ error: 'weekly' }, one));
  t.false(passes({ error: 'a' }, run()));
  for (const search of ['feed', 'WEEKLY', '0a1', 'T1']) t.true(passes({ search }, one), search);
  t.false(passes({ search: 'monthly' }, one));
});
