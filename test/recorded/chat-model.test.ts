import { chatModel, type Model } from '@agent-workflow/graph';
import test, { type ExecutionContext } from 'ava';
import { answerOf, answerToImage, finishOf, imageSent, joined, playAgent } from './played.ts';
import { providers } from './providers.ts';
import type { Reply } from './providers/provider.ts';
import { startReplay } from './replay.ts';

const modelOf = async (t: ExecutionContext, ...replies: readonly Reply[]): Promise<Model> =>
  chatModel({ model: 'm', baseUrl: (await startReplay(t, ...replies)).baseUrl });

for (const { name, ...shapes } of providers) {
  test(`${name}: a text is streamed, its tokens are counted, and it ends`, async (t) => {
    const parts = await answerOf(await modelOf(t, shapes.text));
    t.is(joined(parts, 'text'), 'Hello');
    t.is(joined(parts, 'reasoning'), '');
    t.like(
      parts.find(({ type }) => type === 'usage'),
      { inputTokens: 5, outputTokens: 2 },
    );
    t.is(finishOf(parts), name === 'vLLM' ? 'unknown' : 'stop');
  });

  test(`${name}: two calls at once are made, each with its own arguments`, async (t) => {
    const { cities } = await playAgent(await modelOf(t, shapes.calls, shapes.text));
    t.deepEqual(cities, ['Paris', 'Oslo']);
  });

  const { reasoning } = shapes;
  if (reasoning !== 'hidden')
    test(`${name}: reasoning is told apart from the text`, async (t) => {
      const parts = await answerOf(await modelOf(t, reasoning));
      t.is(joined(parts, 'reasoning'), 'Think.');
      t.is(joined(parts, 'text'), 'Hello');
    });

  test(`${name}: an image of a user is a part of the question`, async (t) => {
    const { baseUrl, requests } = await startReplay(t, shapes.text);
    t.is(await answerToImage(chatModel({ model: 'm', baseUrl })), 'Hello');
    t.deepEqual(requests[0]?.body.messages, [imageSent]);
  });

  test(`${name}: a call that was cut is not made, and the model reads so`, async (t) => {
    const { cities, results } = await playAgent(await modelOf(t, shapes.cut, shapes.text));
    t.deepEqual(cities, []);
    t.is(results.length, 1);
    t.regex(results[0] ?? '', /Nothing was run/);
  });

  test(`${name}: a failure has a reason for callers, and for the log what the provider wrote`, async (t) => {
    const error = await t.throwsAsync(answerOf(await modelOf(t, shapes.error)));
    t.like(error, { reason: shapes.error.reason });
    t.notRegex(error.message, /pineapple/);
    t.regex(String(error.cause), /the provider wrote: .*pineapple/);
  });
}
