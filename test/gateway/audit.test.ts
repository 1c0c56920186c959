import { appendLine, readLines, timeOf, type AuditLine } from '@agent-workflow/gateway/audit/audit';
import { idFrom } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import test, { type ExecutionContext } from 'ava';

const dayMs = 24 * 3_600_000;
const noon = Date.UTC(2026, 1, 27, 12);

const line: AuditLine = {
  ...{ who: 'u:pat', roles: ['ops'], action: 'read', operation: 'getStateOfOthers', of: 'u:alice' },
  ...{ threadId: 't1', reason: 'why', requestId: 'q' },
};

/** A UUIDv7 of that time. */
function idAt(at: number): string {
  const hex = at.toString(16).padStart(12, '0');
  return idFrom(`${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`, 'line');
}

/** A record with lines of these times. */
async function recordOf(t: ExecutionContext, times: readonly number[]) {
  const store = openSqliteThreadStore({ path: ':memory:' });
  t.teardown(() => store[Symbol.asyncDispose]());
  const threads = createThreads({ store });
  for (const at of times) await appendLine(threads, { id: idAt(at), line }, within(5000));
  const read = async (range: Parameters<typeof readLines>[1]): Promise<readonly number[]> => {
    const found: number[] = [];
    for await (const { id } of readLines(threads, range, () => within(5000))) found.push(timeOf(id));
    return found;
  };
  return { threads, read };
}

test('the lines of several days are read newest first, each once, and only those of the time asked for', async (t) => {
  const times = Array.from({ length: 20 }, (_, index) => noon + index * 7 * 3_600_000);
  const { read } = await recordOf(t, times);
  const newestFirst = times.toReversed();
  t.deepEqual(await read({ from: noon - dayMs, to: noon + 30 * dayMs }), newestFirst);
  const [from = 0, to = 0] = [times[3], times[11]];
  t.deepEqual(await read({ from, to }), times.slice(3, 11).toReversed());
  const before = idAt(times[8] ?? 0);
  t.deepEqual(await read({ from: noon, to: noon + 30 * dayMs, before }), times.slice(0, 8).toReversed());
});

test('a line is found by the time of its id, also at midnight', async (t) => {
  const midnight = Date.UTC(2026, 1, 28);
  const { read } = await recordOf(t, [midnight - 1, midnight, midnight + 1]);
  t.deepEqual(await read({ from: midnight - 10, to: midnight + 10 }), [midnight + 1, midnight, midnight - 1]);
  t.deepEqual(await read({ from: midnight - 10, to: midnight }), [midnight - 1]);
  t.deepEqual(await read({ from: midnight, to: midnight + 1 }), [midnight]);
});

test('a day with more lines than one read takes is read whole', async (t) => {
  const times = Array.from({ length: 1203 }, (_, index) => noon + index);
  const { read } = await recordOf(t, times);
  t.deepEqual(await read({ from: noon, to: noon + dayMs }), times.toReversed());
});

test('a line that was written is not replaced: only the same write succeeds again', async (t) => {
  const { threads, read } = await recordOf(t, [noon]);
  const id = idAt(noon);
  await appendLine(threads, { id, line }, within(5000));
  const other = { kind: 'audit', owner: 'audit/2026-02-27', id, version: 1, json: Buffer.from('{}') } as const;
  await t.throwsAsync(threads.putResource({ ...other, attemptId: idAt(noon + 1) }, within(5000)));
  t.deepEqual(await read({ from: noon, to: noon + 1 }), [noon]);
});
