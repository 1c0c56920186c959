import test from 'ava';
import fc from 'fast-check';
import type { Run, RunStatus } from '@agent-workflow/client';
import { factsOf, withFirstPage } from './listed-runs.ts';

const run = (id: number, status: RunStatus): Run => ({ run_id: String(id), thread_id: 't', status });

test('a list whose first page is read again is what it would be if all of it were, as far as the page reaches', (t) => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(8), fc.integer({ min: 1, max: 10 }), (before, added, limit) => {
      const old = Array.from({ length: before }, (_, index) => run(before - index, 'running'));
      const all = Array.from({ length: before + added }, (_, index) => run(before + added - index, 'completed'));
      const page = { runs: all.slice(0, limit), isWhole: all.length <= limit };
      const merged = withFirstPage(old, page);
      if (merged === undefined) t.true(added >= limit);
      else
        t.deepEqual(
          merged.map(({ run_id: id }) => id),
          all.map(({ run_id: id }) => id),
        );
      for (const each of merged?.slice(0, limit) ?? []) t.is(each.status, 'completed');
    }),
  );
});

test('a run that no longer passes the filter leaves the list when the page says so', (t) => {
  const listed = [run(3, 'running'), run(2, 'running'), run(1, 'running')];
  t.deepEqual(
    withFirstPage(listed, { runs: [run(3, 'running')], isWhole: true })?.map(({ run_id: id }) => id),
    ['3'],
  );
  t.deepEqual(
    withFirstPage(listed, { runs: [run(2, 'running')], isWhole: false })?.map(({ run_id: id }) => id),
    ['2', '1'],
  );
});

test('facts that a run lacks are absent', (t) => {
  t.deepEqual(factsOf({ ...run(1, 'queued'), created_at: '1970-01-01T00:00:01.000Z' }), {
    createdAt: 1000,
    updatedAt: NaN,
  });
});
