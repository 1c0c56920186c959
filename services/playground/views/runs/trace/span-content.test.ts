import type { Message, Step } from '@agent-workflow/client';
import test from 'ava';
import { answerOf, callOf, outputOf, sentBy } from './span-content.ts';
import type { StepRecord } from './step-record.ts';
import type { TraceSpan } from '@agent-workflow/client';

const message = (id: string, content: Message['content'] = []): Message => ({
  ...{ message_id: id, role: 'assistant', content, timestamp: '2026-01-01T00:00:00.000Z' },
});

const span = (given: Partial<TraceSpan>): TraceSpan => ({
  ...{ id: 's0.1', parent_id: null, kind: 'model', name: '', step: 0, status: 'completed' },
  ...{ started_at: '2026-01-01T00:00:00.000Z', ended_at: null },
  ...given,
});

const call = { type: 'tool_call', id: 'c1', name: 'look', args: { q: 1 } };
const result = { type: 'tool_result', call_id: 'c1', content: 'found' };
const record: StepRecord = {
  step: { changed: { a: 1, b: 2 }, messages: [message('m4', [result]), message('m5')] } as unknown as Step,
  before: {
    fields: { context: [message('m1'), message('m2', [call]), message('m3')] },
    isTruncated: false,
    text: undefined,
    at: [],
  },
};

test('messages that were sent are found by the ends of their parts, and those that are gone are counted', (t) => {
  const sent = {
    count: 5,
    other: 1,
    ranges: [
      { from: 'm1', to: 'm2', count: 2 },
      { from: 'm0', to: 'm3', count: 2 },
    ],
  };
  const found = sentBy(span({ sent }), record);
  t.deepEqual(
    found.messages.map(({ message_id: id }) => id),
    ['m1', 'm2'],
  );
  t.like(found, { missing: 2, other: 1 });
  t.deepEqual(sentBy(span({}), record), { messages: [], missing: 0, other: 0 });
});

test('a call of a tool is found with its result, an answer by its message', (t) => {
  t.deepEqual(callOf(span({ call_id: 'c1' }), record), { asked: call, result });
  t.deepEqual(callOf(span({ call_id: 'c2' }), record), {});
  t.is(answerOf(span({ message_id: 'm5' }), record)?.message_id, 'm5');
  t.is(answerOf(span({}), record), undefined);
});

test('a node has given what it is on record with, and all of a step that was its own', (t) => {
  const output = { message_ids: ['m5'], messages: 3, fields: ['b'] };
  t.like(outputOf(span({ output }), record, false), { fields: { b: 2 }, unnamed: 2 });
  t.like(outputOf(span({ output }), record, true), { fields: { a: 1, b: 2 }, unnamed: 0 });
  t.is(outputOf(span({}), record, false), undefined);
  t.is(outputOf(span({ output }), {}, true), undefined);
});
