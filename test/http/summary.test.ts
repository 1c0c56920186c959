import test from 'ava';
import { user, type Chunk } from '../servers/client.ts';
import { replyText, serve } from './service.ts';

const { send, stream, data } = serve(test, 'summing');

interface Message {
  readonly message_id: string;
  readonly content: readonly { readonly text?: string }[];
}

interface Result {
  readonly messages: readonly Message[];
  readonly state: { readonly context: readonly Message[]; readonly context_summary: string };
  readonly context: readonly Message[];
  readonly summary: string;
}

test('a summary takes the place of old messages in the context, and the thread lists them all', async (t) => {
  const config = { thread_id: 'long' };
  const sendText = async (text: string): Promise<Result> =>
    data(t, 'invokeGraph', send('POST', '/v1/graph/invoke', { messages: [user(text)], config }));
  await sendText('one');
  await sendText('two');
  const third = await sendText('three');
  t.deepEqual(third.messages.map(replyText), ['saw 5']);
  t.deepEqual(third.context.map(replyText), ['three', 'saw 5']);
  t.is(third.summary, '|one|saw 1|two|saw 3');

  const { state }: Pick<Result, 'state'> = await data(t, 'getState', send('GET', '/v1/threads/long/state'));
  t.deepEqual(state.context, third.context);
  t.is(state.context_summary, third.summary);
  const { messages }: Result = await data(t, 'listMessages', send('GET', '/v1/threads/long/messages'));
  t.deepEqual(messages.map(replyText), ['one', 'saw 1', 'two', 'saw 3', 'three', 'saw 5']);
  t.deepEqual((await sendText('four')).messages.map(replyText), ['saw 3']);
});

test('a stream tells what left the context and the new summary, as its granularity allows', async (t) => {
  const input = ['one', 'two', 'three', 'four'].map(user);
  for (const [granularity, kinds] of [
    ['low', []],
    ['partial', ['context_chunk', 'state_chunk', 'context_chunk']],
    ['full', ['context_chunk', 'state_chunk', 'context_chunk', 'summary_chunk']],
  ] as const) {
    const chunks: Chunk[] = [];
    const config = { thread_id: `streamed-${granularity}` };
    for await (const chunk of stream({ messages: input, config, response_granularity: granularity }))
      chunks.push(chunk);
    const shown = chunks.filter(({ event }) => /^(state|context|summary)_chunk$/.test(event));
    t.deepEqual(
      shown.map(({ event }) => event),
      kinds,
    );
    if (granularity === 'low') continue;
    const path = `/v1/threads/streamed-${granularity}/messages`;
    const { messages }: Result = await data(t, 'listMessages', send('GET', path));
    const ids = messages.slice(0, 3).map(({ message_id: id }) => id);
    t.deepEqual(shown[2]?.data, { messages: [], removed: ids } as never);
    t.deepEqual(shown[1]?.data, { context_summary: '|one|two|three' } as never);
    if (granularity === 'full') t.is(shown[3]?.data, '|one|two|three' as never);
  }
});
