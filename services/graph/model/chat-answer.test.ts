import test from 'ava';
import { readChatAnswer } from './chat-answer.ts';
import { toChatFault, type ChatReply } from './chat-request.ts';
import type { AnswerPart } from './model.ts';
import { modelFailure } from './model-failure.ts';
import { readProviderFault } from './provider-words.ts';

const done = { choices: [{ delta: {}, finish_reason: 'stop' }] };

const stop: AnswerPart = { type: 'finish', reason: 'stop' };

const replyOf = (body: string | null): ChatReply => ({
  response: new Response(body),
  toError: (event) => new Error(readProviderFault({ body: event }, '').words),
});

const read = async (...chunks: readonly unknown[]): Promise<AnswerPart[]> => {
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  return Array.fromAsync(readChatAnswer(replyOf(text), 'small-1'));
};

const calling = (...calls: readonly object[]): object => ({ choices: [{ delta: { tool_calls: calls } }] });

test('calls without an index are told apart by their ids', async (t) => {
  const parts = await read(
    calling({ id: 'a', function: { name: 'add', arguments: '{"x"' } }),
    calling({ function: { arguments: ':1}' } }),
    calling({ id: 'b', function: { name: 'look', arguments: '' } }),
    done,
  );
  t.deepEqual(parts, [
    { type: 'tool_call', id: 'a', name: 'add', args: { x: 1 } },
    { type: 'tool_call', id: 'b', name: 'look', args: {} },
    stop,
  ]);
});

test('a call without an id gets one', async (t) => {
  const [part] = await read(calling({ index: 0, function: { name: 'add', arguments: '{}' } }), done);
  t.true(part?.type === 'tool_call' && part.id !== '');
});

test('a refusal is text', async (t) => {
  t.deepEqual(await read({ choices: [{ delta: { refusal: 'No.' } }] }, done), [{ type: 'text', text: 'No.' }, stop]);
});

test('a stream without a finish reason, with an error, or without any event is no answer', async (t) => {
  await t.throwsAsync(read({ choices: [{ delta: { content: 'Hi' } }] }));
  await t.throwsAsync(read({ error: { message: 'overloaded' } }), { message: 'overloaded' });
  await t.throwsAsync(read());
  await t.throwsAsync(Array.fromAsync(readChatAnswer(replyOf(null), 'small-1')));
});

for (const [title, type, what] of [
  ['a page', 'text/html; charset=secret', 'but text/html'],
  ['an answer that is not streamed', 'application/json', 'but application/json'],
  ['a body of no type that is known', 'secret', 'but of no known type'],
] as const)
  test(`${title} in place of a stream could not be read, and says to check baseUrl`, async (t) => {
    const response = new Response('{"choices": []}', { headers: { 'content-type': type } });
    const error = await t.throwsAsync(
      Array.fromAsync(readChatAnswer({ response, toError: () => new Error('none') }, 'small-1')),
    );
    t.like(modelFailure(toChatFault(error)), {
      message: 'the answer of the model could not be read: check baseUrl',
      reason: 'unreadable',
      cause: `the reply is no stream of events, ${what}`,
    });
  });

test('a stream that ends without an event is broken off', async (t) => {
  const response = new Response('', { headers: { 'content-type': 'text/event-stream' } });
  const error = await t.throwsAsync(
    Array.fromAsync(readChatAnswer({ response, toError: () => new Error('none') }, 'small-1')),
  );
  t.is(modelFailure(toChatFault(error)).message, 'the model broke off its answer');
});

test('counts of tokens that are no counts are none', async (t) => {
  const usage = { prompt_tokens: null, completion_tokens: 3 };
  const [part] = await read(done, { choices: [], usage });
  t.deepEqual(part, { type: 'usage', model: 'small-1', inputTokens: 0, outputTokens: 3 });
  const strange = { prompt_tokens: -1, completion_tokens: 1.5 };
  t.like((await read(done, { choices: [], usage: strange }))[0], { inputTokens: 0, outputTokens: 0 });
});
