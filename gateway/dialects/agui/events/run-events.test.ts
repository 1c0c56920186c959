import type { RunEvent } from '@agent-workflow/protos/execution';
import test from 'ava';
import { createRunEvents } from './run-events.ts';

test('a message that a step left half sent is followed by all messages, those of the input among them', async (t) => {
  const asked: boolean[] = [];
  const input = { message_id: 'q', role: 'user', content: [{ type: 'text', text: 'Hello?' }], timestamp: '' } as const;
  const added = {
    message_id: 'a',
    role: 'assistant',
    content: [{ type: 'text', text: 'Yes.' }],
    timestamp: '',
  } as const;
  const toEvents = createRunEvents({
    run: { runId: 'run', threadId: 'thread', name: 'run', parentRunId: undefined },
    beginning: (needsMessages) => {
      asked.push(needsMessages);
      return Promise.resolve({ fields: {}, messages: needsMessages ? [input] : [] });
    },
    shown: '',
    subgraphs: new Set(),
    isEarlier: false,
  });
  const event = (kind: RunEvent['kind'], data: unknown, more: Partial<RunEvent> = {}): RunEvent => ({
    ...{ seq: 1, at: 1, kind, data: Buffer.from(JSON.stringify(data)) },
    ...more,
  });
  await toEvents(event('metadata', {}));
  await toEvents(event('on_chain_start', {}));
  await toEvents(event('messages_chunk', 'Ye', { messageId: 'lost', role: 'assistant', node: 'n' }));
  const ended = await toEvents(event('on_chain_end', { state: {}, all_messages: [added], messages: [added] }));
  t.deepEqual(
    ended.filter(({ type }) => type === 'MESSAGES_SNAPSHOT').map(({ messages }) => messages),
    [
      [
        { id: 'q', role: 'user', content: 'Hello?' },
        { id: 'a', role: 'assistant', content: 'Yes.' },
      ],
    ],
  );
  t.deepEqual(asked, [false, true]);
});
