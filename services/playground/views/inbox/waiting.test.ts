import type { InboxItem } from '@agent-workflow/client';
import test from 'ava';
import { groupsOf, toForeign, toWaiting } from './waiting.ts';

const now = Date.UTC(2026, 10, 28, 12);
const iso = (ms: number): string => new Date(ms).toISOString();
const item = (id: string, given: Partial<InboxItem> = {}): InboxItem => ({
  ...{ thread_id: id, thread_name: null, title: null, agent: 'support', metadata: null, run_id: 'r', interrupts: [] },
  ...{ waiting_since: iso(now - 60_000), ...given },
});
const question = (id: string, value: string, deadline?: number) => ({
  ...{ id, node: 'approve', value },
  ...(deadline !== undefined && { deadline: iso(deadline) }),
});

test('what waits is called by its first question, and is due with the first of its deadlines', (t) => {
  const waiting = toWaiting(
    item('a', { interrupts: [question('1', 'Refund?', now + 9000), question('2', 'Send?', now + 5000)] }),
  );
  t.like(waiting, { title: 'Refund?, and 1 more', due: now + 5000, since: now - 60_000 });
  t.is(toWaiting(item('b', { interrupts: [question('1', 'Go on?')] })).due, Infinity);
  t.is(toWaiting(item('c', { interrupts: [{ id: '1', node: 'ask', value: { n: 1 } }] })).title, 'The node ask asks');
  t.is(toWaiting(item('d')).title, 'A question that is no longer on record');
});

test('groups go by urgency, and the oldest comes first in each', (t) => {
  const due = (id: string, ms?: number, since = now) =>
    toWaiting(item(id, { waiting_since: iso(since), interrupts: [question('1', id, ms)] }));
  const groups = groupsOf(
    [
      due('never, new'),
      due('never, old', undefined, now - 9000),
      due('in a week', now + 7 * 86_400_000),
      due('today', now + 5 * 3_600_000),
      due('over', now - 1000),
      due('soon', now + 60_000),
    ],
    now,
  );
  t.deepEqual(
    groups.map(({ title, items }) => [title, items.map((each) => each.threadId)]),
    [
      ['Due within the hour', ['over', 'soon']],
      ['Due within a day', ['today']],
      ['Due later', ['in a week']],
      ['No deadline', ['never, old', 'never, new']],
    ],
  );
});

test('a question of another owner is called as one of one’s own, and says for whom it is asked', (t) => {
  const foreign = toForeign({
    ...{ question_id: 'q', asked_for: 'ada', thread_id: 't', run_id: 'r', agent: 'refunds' },
    ...{ node: 'approve', value: 'Refund?', to: ['manager'], not_owner: true, quorum: 2, answers: 1, answered: false },
    ...{ asked_at: iso(now), deadline: iso(now + 5000), default: false },
  });
  t.like(foreign, { id: 'q', title: 'Refund?', due: now + 5000, since: now });
  t.deepEqual(foreign.others, { askedFor: 'ada', answers: 1, quorum: 2 });
  t.deepEqual(foreign.questions, [
    { id: 'q', node: 'approve', text: 'Refund?', deadline: iso(now + 5000), fallback: false },
  ]);
});
