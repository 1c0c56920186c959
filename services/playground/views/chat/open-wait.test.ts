import test from 'ava';
import { openWaitOf } from './open-wait.ts';
import type { RunState } from './run-state.ts';

const waiting = (more: Partial<RunState>): RunState => ({ runId: 'r', status: 'interrupted', restarts: 0, ...more });
const asked = (...values: readonly unknown[]) =>
  openWaitOf(waiting({ interrupts: values.map((value, index) => ({ id: `i${String(index)}`, node: 'n', value })) }));

test('a text answers the only open question, unless that has a form of more than a text', (t) => {
  t.deepEqual(asked('Who?'), { kind: 'question', answerable: 'i0' });
  t.deepEqual(asked({ question: 'Who?', schema: { type: 'string' } }), { kind: 'question', answerable: 'i0' });
  t.deepEqual(asked({ question: 'Pay?', schema: { type: 'boolean' } }), { kind: 'question' });
  t.deepEqual(asked('Who?', 'Why?'), { kind: 'question' });
});

test('open calls of tools are waited for, and a run that has ended waits for nothing', (t) => {
  t.deepEqual(openWaitOf(waiting({ calls: [{ id: 'c', name: 'look', args: {} }] })), { kind: 'call' });
  t.is(openWaitOf(waiting({})), undefined);
  t.is(openWaitOf({ runId: 'r', status: 'completed', restarts: 0 }), undefined);
  t.is(openWaitOf(undefined), undefined);
});
