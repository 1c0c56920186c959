import test from 'ava';
import { createLog } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import { openSqliteThreadStore } from './adapters/sqlite/store.ts';
import type { Head } from './ports/record.ts';
import type { ThreadStore } from './ports/store.ts';
import { openThreads } from './open.ts';

const silentLog = createLog('test', 'silent');

const minuteMs = 60_000;
const key = { owner: 'u:ada', threadId: 't1' };

test('checkpoints that are too old go by themselves, younger ones stay', async (t) => {
  await using opened = await openAged(1);
  const until = Date.now() + 20_000;
  for (;;) {
    const { checkpoints } = await opened.threads.listCheckpoints({ ...key, limit: 10, offset: 0 }, within(5000));
    if (checkpoints.length === 1) break;
    if (Date.now() > until) return void t.fail(`${String(checkpoints.length)} are left`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.pass();
});

test('with no bound by age nothing is dropped', async (t) => {
  await using opened = await openAged(0);
  for (const end = Date.now() + 100; Date.now() < end;) await new Promise((resolve) => setImmediate(resolve));
  const { checkpoints } = await opened.threads.listCheckpoints({ ...key, limit: 10, offset: 0 }, within(5000));
  t.is(checkpoints.length, 3);
});

test('a stored text that cannot be read is logged with its thread and column, once in a while', async (t) => {
  const lines: object[] = [];
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    error: (line: object) => void lines.push(line),
  });
  const store = openSqliteThreadStore({ path: ':memory:' });
  const message = { position: 0, messageId: 'm1', json: Buffer.from('{') };
  await store.change(key, {}, () => ({ change: { head: headAt(0, 1), messages: [message] }, reply: undefined }));
  await using opened = openThreads({
    store,
    values: { CHECKPOINT_KEEP: 100, CHECKPOINT_TTL: 0, OPEN_QUESTIONS: 1 },
    log,
  });
  for (let page = 0; page < 3; page++)
    await opened.threads.listMessages({ ...key, limit: 10, offset: 0 }, within(5000));
  t.deepEqual(lines, [{ threadId: 't1', column: 'message.json' }]);
});

test('a worker whose clock is ahead is logged with the time that it is ahead, once in a while', async (t) => {
  const lines: { readonly worker?: string; readonly agent?: string; readonly aheadMs?: number }[] = [];
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    warn: (line: object) => void lines.push(line),
  });
  const store = openSqliteThreadStore({ path: ':memory:' });
  await using opened = openThreads({
    store,
    values: { CHECKPOINT_KEEP: 100, CHECKPOINT_TTL: 0, OPEN_QUESTIONS: 1 },
    log,
  });
  const { threads } = opened;
  const { claimed } = await threads.acceptRun(
    {
      ...{ ...key, runId: 'r1', requestId: 'q', messages: [], answers: [], hasNewInput: true, granularity: 'low' },
      ...{ optionsJson: Buffer.from('{}'), multitaskStrategy: 'enqueue', claim: { workerId: 'w1' }, agent: 'billing' },
    },
    within(5000),
  );
  for (const [step, aheadMs] of [0, minuteMs, minuteMs].entries()) {
    const at = Date.now() + aheadMs;
    await threads.commitStep(
      {
        ...{ ...key, runId: 'r1', epoch: claimed?.epoch ?? 0, step, at, fields: {}, messages: [], nodes: ['a'] },
        ...{ replacesMessages: false, removedFromContext: [], next: ['a'], openCalls: [], openInterrupts: [] },
      },
      within(5000),
    );
  }
  t.is(lines.length, 1);
  t.like(lines[0], { worker: 'w1', agent: 'billing' });
  const { aheadMs = 0 } = lines[0] ?? {};
  t.true(aheadMs > minuteMs - 10_000 && aheadMs <= minuteMs);
});

/** The service, swept often, on a thread with two versions of an hour ago and one of an hour ahead. */
async function openAged(keptMinutes: number): Promise<ReturnType<typeof openThreads>> {
  const store = openSqliteThreadStore({ path: ':memory:' });
  const hourMs = 3_600_000;
  for (const [version, at] of [-hourMs, -hourMs, hourMs].entries()) await putVersion(store, version, Date.now() + at);
  const values = { CHECKPOINT_KEEP: 100, CHECKPOINT_TTL: keptMinutes * 60, OPEN_QUESTIONS: 1 };
  return openThreads({ store, values, log: silentLog, sweepMs: 5 });
}

async function putVersion(store: ThreadStore, version: number, at: number): Promise<void> {
  const checkpoint = { source: 'update', nodes: [], next: [], at, undo: Buffer.from('{"at":0}\n') } as const;
  await store.change(key, {}, () => ({ change: { head: headAt(version, at), checkpoint }, reply: undefined }));
}

const headAt = (version: number, at: number): Head => ({
  createdAt: at,
  updatedAt: at,
  version,
  epoch: 0,
  step: 0,
  queue: [],
  nextPosition: 1,
  openCalls: [],
  next: [],
  openInterrupts: [],
  size: { fields: 0, context: 0 },
  claims: 0,
  deleting: false,
});

test('a question to a role that nobody can have is logged, once in a while', async (t) => {
  const lines: object[] = [];
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    warn: (line: object) => void lines.push(line),
  });
  const store = openSqliteThreadStore({ path: ':memory:' });
  const values = { CHECKPOINT_KEEP: 100, CHECKPOINT_TTL: 0, OPEN_QUESTIONS: 9 };
  await using opened = openThreads({ store, values, log });
  const { threads } = opened;
  const leaveQuestion = async (threadId: string, to: string): Promise<void> => {
    const of = { owner: key.owner, threadId, runId: `run-${threadId}` };
    const { claimed } = await threads.acceptRun(
      {
        ...{ ...of, requestId: 'q', messages: [], answers: [], hasNewInput: true, granularity: 'low' },
        ...{ optionsJson: Buffer.from('{"addressees":["*","user","manager"]}'), multitaskStrategy: 'enqueue' },
        ...{ claim: { workerId: 'w1' }, agent: 'refunds' },
      },
      within(5000),
    );
    const interruptsJson = JSON.stringify([{ id: threadId, node: 'a', value: 'Pay?', to: [to] }]);
    await threads.commitStep(
      {
        ...{ ...of, epoch: claimed?.epoch ?? 0, step: 0, at: Date.now(), fields: {}, messages: [], nodes: ['a'] },
        ...{ replacesMessages: false, removedFromContext: [], next: ['a'], openCalls: [], openInterrupts: [threadId] },
        end: { status: 'interrupted', iterations: 1, recursionLimitReached: false, interruptsJson },
      },
      within(5000),
    );
  };
  for (const [threadId, to] of [
    ['t1', 'manager'],
    ['t2', 'managr'],
    ['t3', 'managr'],
  ] as const)
    await leaveQuestion(threadId, to);
  t.deepEqual(lines, [{ role: 'managr', agent: 'refunds', runId: 'run-t2' }]);
});
