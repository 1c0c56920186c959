import test from 'ava';
import { watchStatements } from './metrics.ts';

test('Cassandra is reported as away when a statement fails, and as there again once none has failed for a while', async (t) => {
  t.plan(1);
  const reports: string[] = [];
  const health = { fails: (reason: string) => reports.push(reason), works: () => reports.push('works') };
  let now = 0;
  const watch = watchStatements(health, () => now);
  const answer = async (outcome: 'ok' | 'lost' | 'failed', at: number): Promise<void> => {
    now = at;
    watch({ kind: 'read', cql: '', answered: Promise.resolve(outcome) });
    await Promise.resolve();
  };
  await answer('ok', 0);
  await answer('failed', 10_000);
  await answer('ok', 10_001);
  await answer('lost', 14_000);
  await answer('lost', 15_001);
  t.deepEqual(reports, ['works', 'it is away, or too slow', 'works']);
});
