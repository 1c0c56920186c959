import test from 'ava';
import type { RunRow } from '../ports/lists.ts';
import { nodesOf, questionOf } from './run-place.ts';

const asked = (interruptsJson: string): RunRow => ({
  ...{ runId: 'r1', threadId: 't1', requestId: 'q', status: 'interrupted', granularity: 'low', isNewThread: false },
  ...{ createdAt: 1, updatedAt: 2 },
  end: { status: 'interrupted', iterations: 1, recursionLimitReached: false, interruptsJson },
});
const waiting = { epoch: 1, interruptedRun: 'r1', next: ['ask'] };

test('the question of a run is shown while its thread waits for the answer', (t) => {
  const run = asked('[{"id":"i1","value":"May I?"},{"id":"i2","value":"And now?"}]');
  t.deepEqual(questionOf(run, waiting), { question: 'May I?' });
  t.deepEqual(questionOf(run, { ...waiting, interruptedRun: 'r2' }), {});
  t.deepEqual(questionOf(run, { ...waiting, activeRun: 'r2' }), {});
  t.deepEqual(questionOf(asked('[{"id":"i1","value":{"question":"Refund\\nit?","schema":{}}}]'), waiting), {
    question: 'Refund it?',
  });
});

test('what asks in no words, or cannot be read, shows no question', (t) => {
  const texts = [
    '',
    '{',
    '{}',
    '[]',
    '[1]',
    '[{"id":"i1"}]',
    '[{"id":"i1","value":7}]',
    '[{"id":"i1","value":{"question":7}}]',
  ];
  for (const text of texts) t.deepEqual(questionOf(asked(text), waiting), {}, text);
});

test('at most ten nodes are shown', (t) => {
  const next = Array.from({ length: 30 }, (_, index) => String(index));
  t.deepEqual(nodesOf(asked('[]'), { ...waiting, next }), next.slice(0, 10));
});
