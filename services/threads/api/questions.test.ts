import test from 'ava';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { ThreadStore } from '../ports/store.ts';
import type { RunRecord } from '../ports/record.ts';
import { newHead } from '../record/head.ts';
import { entriesOf, ofPlace } from '../record/question-entries.ts';
import { createQuestionCalls, sweepQuestions } from './questions.ts';

const key = { owner: 'u:ada', threadId: 't1' };
const day = 24 * 3_600_000;
const start = Date.UTC(2026, 10, 30, 12);
const question = { id: 'r1/1/approve/0', to: ['manager'], askedAt: start };
const call = { deadline: Infinity, signal: new AbortController().signal };

const head = {
  ...newHead({}, start),
  ...{ addressed: [question], openInterrupts: [question.id], interruptedRun: 'r1', next: ['approve'] },
};

const run: RunRecord = {
  ...{ runId: 'r1', threadId: 't1', requestId: 'q', status: 'interrupted', granularity: 'low', isNewThread: true },
  ...{ createdAt: start, updatedAt: start, options: Buffer.from('{}'), answers: [], hasNewInput: true },
  end: {
    ...{ status: 'interrupted', iterations: 1, recursionLimitReached: false },
    interruptsJson: JSON.stringify([{ id: question.id, node: 'approve', value: 'Pay?', to: question.to }]),
  },
};

const writeEntries = async (store: ThreadStore): Promise<void> => {
  for (const write of entriesOf(key, head, question)) await store.putResource(write);
};
const writeThread = (store: ThreadStore): Promise<void> =>
  store.change(key, {}, () => ({ change: { head, runs: [run] }, reply: undefined }));

const found = async (store: ThreadStore, now: number): Promise<number> => {
  const { listQuestions } = createQuestionCalls({ store, now: () => now });
  return (await listQuestions({ roles: ['manager'], limit: 10 }, call)).questions.length;
};

test('an entry that stands before its question is on record is left, and one that outlives it is removed', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  await writeEntries(store);
  t.is(await found(store, start + 1000), 0);
  await writeThread(store);
  t.is(await found(store, start + 1000), 1);
  await store.change(key, {}, () => ({ change: { head: { ...head, deleting: true } }, reply: undefined }));
  await store.purge(key);
  t.is(await found(store, start + 3_600_000), 0);
  await writeThread(store);
  t.is(await found(store, start + 3_600_000), 0);
});

test('the sweep makes the entries that an open question lacks, removes those of others, and stops at nothing', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  await writeThread(store);
  const [place] = entriesOf(key, head, question);
  if (!place) throw new Error('the question has no place');
  await store.putResource(place);
  const poisoned = { ...place, ...ofPlace('poisoned'), json: Buffer.from('{"to":7}') };
  await store.putResource({ ...poisoned, attempt: 'poisoned', dueAt: start });
  t.is(await found(store, start), 0);
  t.is(await sweepQuestions(store, start + day, 10), 2);
  t.is(await found(store, start + day), 1);
  t.is(await sweepQuestions(store, start + day, 10), 0);
  t.is(await store.getResource(ofPlace('poisoned')), undefined);
  await store.change(key, {}, () => ({ change: { head: { ...head, deleting: true } }, reply: undefined }));
  t.is(await sweepQuestions(store, start + 2 * day, 10), 1);
  t.is(await store.getResource({ ...ofPlace(place.id) }), undefined);
});
