import test from 'ava';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import type { ThreadStore } from '../ports/store.ts';
import { newHead } from '../record/head.ts';
import { entriesOf } from '../record/question-entries.ts';
import { createQuestionBound } from './question-bound.ts';

const start = Date.UTC(2026, 10, 30, 12);
const minute = 60_000;
const owner = 'u:ada';

/** The head of a thread that asks managers, on record with its entries. */
async function open(store: ThreadStore, threadId: string, key: ThreadKey = { owner, threadId }): Promise<Head> {
  const question = { id: `${threadId}/1/approve/0`, to: ['manager'], askedAt: start };
  const head = { ...newHead({}, start), addressed: [question], openInterrupts: [question.id], agent: 'refunds' };
  for (const write of entriesOf(key, head, question)) await store.putResource(write);
  await store.change(key, {}, () => ({ change: { head }, reply: undefined }));
  return head;
}

const close = (store: ThreadStore, threadId: string, head: Head): Promise<void> =>
  store.change({ owner, threadId }, {}, () => ({
    change: { head: { ...head, version: head.version + 1, addressed: [], openInterrupts: [] } },
    reply: undefined,
  }));

test('one owner has so many questions to others of one agent, and no more until some are answered', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  let now = start;
  const { refusal, refuseOpening } = createQuestionBound({ store, now: () => now, most: 2 });
  const head = await open(store, 't1');
  t.is(await refusal(owner, 'refunds', 1), undefined);
  t.regex((await refusal(owner, 'refunds', 2)) ?? '', /^one owner may have 2 questions .*"refunds".*OPEN_QUESTIONS/);
  await open(store, 't2');
  t.truthy(await refusal(owner, 'refunds', 1));
  await t.throwsAsync(refuseOpening(owner, head), { message: /OPEN_QUESTIONS/ });
  t.is(await refusal(owner, 'refunds', 0), undefined);
  t.is(await refusal(owner, 'letters', 2), undefined);
  t.is(await refusal('u:bob', 'refunds', 2), undefined);
  await close(store, 't1', head);
  t.truthy(await refusal(owner, 'refunds', 1));
  now += 11 * minute;
  t.is(await refusal(owner, 'refunds', 1), undefined);
  t.truthy(await refusal(owner, 'refunds', 2));
});

test('where callers do not sign in there is no bound', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const { refusal } = createQuestionBound({ store, now: () => start, most: 1 });
  for (const threadId of ['t1', 't2']) await open(store, threadId, { owner: 'anon', threadId });
  t.is(await refusal('anon', 'refunds', 1), undefined);
});
