import test from 'ava';
import { chatTitle, groupsOf, whyListed, withFirstPage, type ListedThread } from './conversation-list.ts';

const noon = new Date(2026, 10, 28, 12).getTime();
const thread = (id: string, hoursAgo: number, more: Partial<ListedThread> = {}): ListedThread => ({
  ...{ thread_id: id, updated_at: new Date(noon - hoursAgo * 3_600_000).toISOString() },
  ...more,
});

test('what waits for the reader stands first, the others by the day of their last change', (t) => {
  const threads = [
    thread('now', 0),
    thread('waits', 30, { status: 'interrupted' }),
    thread('asked', 31, {
      status: 'interrupted',
      interrupts: [{ id: 'i', node: 'n', value: 'Pay?', to: ['manager'] }],
    }),
    thread('yesterday', 20),
    thread('week', 70),
    thread('old', 400),
  ];
  t.deepEqual(
    groupsOf(threads, noon).map(({ title, threads: held }) => [title, held.map(({ thread_id: id }) => id).join()]),
    [
      ['Waiting for you', 'waits'],
      ['Waiting for others', 'asked'],
      ['Today', 'now'],
      ['Yesterday', 'yesterday'],
      ['Last seven days', 'week'],
      ['Earlier', 'old'],
    ],
  );
  t.deepEqual(groupsOf([], noon), []);
});

test('a chat is called by its name, else by its title', (t) => {
  t.is(chatTitle({ thread_id: 'a', thread_name: 'A trip', title: 'Where to?' }), 'A trip');
  t.is(chatTitle({ thread_id: 'a', thread_name: null, title: 'Where to?' }), 'Where to?');
  t.is(chatTitle({ thread_id: 'a', thread_name: ' ' }), 'Untitled chat');
});

test('a chat says why it stands where it stands: its question, or what became of its run', (t) => {
  const asked = {
    status: 'interrupted',
    interrupts: [{ id: 'i', node: 'pay', value: { question: 'Refund €249?' } }],
  } as const;
  t.is(whyListed(thread('a', 1, asked)), 'Refund €249?');
  t.is(
    whyListed(thread('a', 1, { status: 'interrupted', waits_for: 'tool_results' })),
    'Waits for the result of a tool',
  );
  t.is(whyListed(thread('a', 1, { status: 'failed' })), 'The last run failed');
  t.is(whyListed(thread('a', 1, { status: 'idle' })), undefined);
});

test('a first page that is read anew moves what has changed up, and drops what is gone', (t) => {
  const [a, b, c, d] = [thread('a', 1), thread('b', 2), thread('c', 3), thread('d', 4)];
  const ids = (threads: readonly ListedThread[]) => threads.map(({ thread_id: id }) => id);
  t.deepEqual(ids(withFirstPage([a, b, c, d], [thread('d', 0), a, c], false)), ['d', 'a', 'c']);
  t.deepEqual(ids(withFirstPage([a, b, c, d], [a, b], false)), ['a', 'b', 'c', 'd']);
  t.deepEqual(ids(withFirstPage([a, b, c], [a], true)), ['a']);
});
