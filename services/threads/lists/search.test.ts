import { within } from '@agent-workflow/protos/call';
import test from 'ava';
import { openSqliteThreadStore } from '../adapters/sqlite/store.ts';
import type { ThreadStore } from '../ports/port.ts';
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
