import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { openSqliteRunLog } from './run-log.ts';

const never = new AbortController().signal;

const scopeOf = (runId: string): RunScope => ({ runId, threadId: 't', requestId: 'q', isNewThread: true });

const eventAt = (seq: number, kind = 'messages_chunk'): RunEvent => ({
  ...{ seq, kind, at: 1 },
  data: Buffer.from(String(seq)),
});

test('events that the file refuses for good end the log of their run alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'events-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'execution.sqlite');
  await using log = openSqliteRunLog({ path });
  const runs = ['sound', 'refused', 'also sound'];
  for (const runId of runs) await log.append(scopeOf(runId), 0, [eventAt(1)]);
  {
    using other = new DatabaseSync(path);
    other.exec(`INSERT INTO events (run_id, first, last, bytes) VALUES ('refused', 2, 2, x'')`);
  }
  const following = log.follow('refused', 1, never)[Symbol.asyncIterator]();
  const followed = t.throwsAsync(following.next(), { code: 'Unavailable' });
  const results = await Promise.allSettled(
    runs.map((runId) => log.append(scopeOf(runId), 1, [eventAt(2, 'on_chain_end')])),
  );
  t.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  await followed;
  for (const runId of ['sound', 'also sound']) t.is((await log.end(runId, never)).seq, 2);
});

test('the log of a run that was accepted here is not looked for in the file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'events-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'execution.sqlite');
  await using log = openSqliteRunLog({ path });
  const moment = log.moment();
  {
    // No file has events of a run that is yet to be accepted: these show who reads it.
    using other = new DatabaseSync(path);
    for (const runId of ['accepted', 'other'])
      other.prepare(`INSERT INTO events (run_id, first, last, bytes) VALUES (?, 1, 5, x'')`).run(runId);
  }
  log.beganAfter('accepted', moment);
  t.is(await log.last('accepted'), 0);
  t.is(await log.last('other'), 5);
});

test('a log that was written and left between a moment and the acceptance after it is not begun anew', async (t) => {
  await using log = openSqliteRunLog({ path: ':memory:' });
  const moment = log.moment();
  await log.append(scopeOf('stopped'), 0, [eventAt(1, 'on_chain_end')]);
  log.beganAfter('stopped', moment);
  t.is(await log.last('stopped'), 1);
  // So many others that the first of them is not remembered by itself.
  const others = Array.from({ length: 1025 }, (_, run) => scopeOf(`run-${String(run)}`));
  await Promise.all(others.map((scope) => log.append(scope, 0, [eventAt(1, 'on_chain_end')])));
  for (const runId of ['stopped', 'run-0', 'run-1024']) {
    log.beganAfter(runId, moment);
    t.is(await log.last(runId), 1, runId);
  }
});

test('the last event is given to who waits for it before it is written, and an event to followers after that', async (t) => {
  await using log = openSqliteRunLog({ path: ':memory:' });
  const order: string[] = [];
  const note = (what: string) => () => order.push(what);
  const waiting = log.end('r', never).then(note('the end'));
  const appended = log.append(scopeOf('r'), 0, [eventAt(1), eventAt(2, 'on_chain_end')]).then(note('written'));
  await waiting;
  t.is((await log.end('r', never)).seq, 2);
  const following = log.follow('r', 0, never)[Symbol.asyncIterator]();
  await following.next().then(note('followed'));
  await appended;
  t.is(order[0], 'the end');
  t.deepEqual(order.slice(1).toSorted(), ['followed', 'written']);
});
