import { appendLine, readLines, timeOf } from '@agent-workflow/gateway/audit/audit';
import { createLog } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { openThreads } from '@agent-workflow/threads/open';
import test from 'ava';

const call = () => within(10_000);
const midnight = Date.UTC(2026, 11, 1);

/** The id of a line that was made at this time. */
const idAt = (at: number): string => {
  const hex = at.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7001-8000-000000000000`;
};

test('a line is found by the time of its id alone, also at midnight', async (t) => {
  const store = openSqliteThreadStore({ path: ':memory:' });
  const opened = openThreads({
    store,
    values: { CHECKPOINT_KEEP: 1, CHECKPOINT_TTL: 0 },
    log: createLog('test', 'silent'),
  });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const threads = link(opened.threads);
  const times = [midnight - 1, midnight, midnight + 1];
  for (const at of times) {
    const line = { who: 'u:pat', roles: [], operation: 'getState', of: 'u:ada', reason: 'why', requestId: 'q' };
    await appendLine(threads, { id: idAt(at), line: { ...line, action: 'read' } }, call());
  }
  const found = async (from: number, to: number): Promise<readonly number[]> => {
    const at: number[] = [];
    for await (const { id } of readLines(threads, { from, to }, call)) at.push(timeOf(id));
    return at;
  };
  t.deepEqual(await found(midnight - 10, midnight + 10), times.toReversed());
  t.deepEqual(await found(midnight - 10, midnight), [midnight - 1]);
  t.deepEqual(await found(midnight, midnight + 1), [midnight]);
});
