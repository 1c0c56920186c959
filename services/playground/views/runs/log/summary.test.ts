import test from 'ava';
import fc from 'fast-check';
import type { EventKind, RunEvent } from '@agent-workflow/client';
import { summaryOf } from './summary.ts';

const eventOf = (kind: string, data: unknown, more: object = {}): RunEvent => ({
  ...{ id: 'r:1', event: kind as EventKind, data, thread_id: 't', run_id: 'r', metadata: {}, timestamp: '' },
  ...more,
});

test('an event is said in one line', (t) => {
  const lines: readonly (readonly [RunEvent, string])[] = [
    [eventOf('on_chain_stream', { node: 'a', status: 'started' }), 'a started: '],
    [
      eventOf('on_chain_stream', { node: 'a', status: 'restarted', attempt: 2, branch: 3 }),
      'a (branch 3) restarted: attempt 2, after a failure',
    ],
    [
      eventOf('on_chain_stream', { node: 'a', status: 'restarted', attempt: 2, takeover: true }),
      'a restarted: its worker was lost',
    ],
    [eventOf('on_chain_stream', { node: 'a', status: 'progress', custom: { at: 1 } }), 'a reports: {"at":1}'],
    [eventOf('messages_chunk', 'Good'), 'Text: Good'],
    [eventOf('messages_chunk', { type: 'image', url: 'x' }), 'Block image: {"type":"image","url":"x"}'],
    [eventOf('context_chunk', { messages: [1, 2], removed: [] }), 'Context changed: 2 added or replaced, 0 removed'],
    [
      eventOf('on_chain_end', { iterations: 1, meta: { status: 'interrupted' } }),
      'The run ended: interrupted: 1 iteration',
    ],
    [eventOf('error', { message: 'the node failed' }), 'The run failed: the node failed'],
  ];
  for (const [event, line] of lines) {
    const { title, text } = summaryOf(event);
    t.is(`${title}: ${text}`, line);
  }
});

test('whatever an event holds, its line is short', (t) => {
  const kind = fc.constantFrom('metadata', 'on_chain_stream', 'messages_chunk', 'on_chain_end', 'error', 'another');
  const data = fc.oneof(fc.jsonValue(), fc.record({ status: fc.constantFrom('restarted', 'sleeping', 'progress') }));
  fc.assert(
    fc.property(kind, data, fc.string({ maxLength: 2000 }), (event, value, long) => {
      t.true(summaryOf(eventOf(event, value)).text.length <= 242);
      t.true(summaryOf(eventOf('messages_chunk', long)).text.length <= 242);
    }),
  );
});
