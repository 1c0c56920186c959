import { within } from '@agent-workflow/protos/call';
import test from 'ava';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { ThreadStore } from '../ports/store.ts';
import { createThreads } from '../threads.ts';

const call = () => within(30_000, new AbortController().signal);
const text = new TextEncoder();
const firstRun = {
  owner: 'ada',
  threadId: 'a',
  runId: 'r',
  requestId: 'q',
  answers: [],
  hasNewInput: true,
  optionsJson: text.encode('{}'),
  multitaskStrategy: 'enqueue',
  granularity: 'low',
  claim: { workerId: 'w' },
} as const;

test('an owner has one search at a time: each has read all before the next begins', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const marks: (number | undefined)[] = [];
  const watched: ThreadStore = {
    ...store,
    listMessages: async (key, page) => {
      marks.push(page.after);
      return store.listMessages(key, page);
    },
  };
  const threads = createThreads({ store: watched });
  const messages = Array.from({ length: 1800 }, (_, index) => {
    const message = { message_id: String(index), role: 'user', content: [{ type: 'text', text: 'tea' }] };
    return { messageId: message.message_id, json: text.encode(JSON.stringify(message)) };
  });
  await threads.acceptRun({ ...firstRun, messages }, call());
  marks.length = 0;
  const request = { owner: 'ada', threadId: 'a', limit: 10, offset: 0, search: 'coffee' };
  await Promise.all(Array.from({ length: 4 }, async () => threads.listMessages(request, call())));
  const one = marks.slice(0, marks.indexOf(undefined, 1));
  t.true(one.length > 2);
  t.deepEqual(marks, [...one, ...one, ...one, ...one]);
});

test('a search by values reads the fields that it names, and no more of them than 256 MiB', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const asked: unknown[] = [];
  const large = text.encode(JSON.stringify('x'.repeat(4_000_000)));
  const filled: ThreadStore = {
    ...store,
    getFields: (_, names) => {
      asked.push(names);
      return Promise.resolve({ colour: large });
    },
  };
  const threads = createThreads({ store: filled });
  for (let index = 0; index < 200; index++)
    await threads.acceptRun(
      { ...firstRun, threadId: `t${String(index)}`, runId: `r${String(index)}`, messages: [] },
      call(),
    );
  const filter = { threadIds: [], statuses: [], valuesJson: text.encode('{"colour":"red"}') };
  t.deepEqual(await threads.countThreads({ owner: 'ada', filter }, call()), { count: 0, atLeast: true });
  t.deepEqual(asked[0], ['colour']);
  t.true(asked.length < 128, String(asked.length));
  const { owner } = firstRun;
  const rest = {
    limit: 10,
    offset: 0,
    sortBy: 'updated_at',
    ascending: false,
    withQuestions: false,
    withValues: false,
  } as const;
  t.like(await threads.searchThreads({ owner, filter, ...rest }, call()), { threads: [], atLeast: true });
});

test('a search by values finds nothing by a field that is hidden', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const kept: ThreadStore = { ...store, getFields: () => Promise.resolve({ __own: text.encode('1') }) };
  const threads = createThreads({ store: kept });
  await threads.acceptRun({ ...firstRun, messages: [] }, call());
  const filter = { threadIds: [], statuses: [], valuesJson: text.encode('{"__own":1}') };
  t.like(await threads.countThreads({ owner: 'ada', filter }, call()), { count: 0 });
});
