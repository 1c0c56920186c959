import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Model } from '@agent-workflow/graph';
import { aiSdkModel } from '@agent-workflow/graph/ai-sdk';
import test, { type ExecutionContext } from 'ava';
import { answerOf, answerToImage, finishOf, imageSent, joined, playAgent } from './played.ts';
import { providers } from './providers.ts';
import { openai } from './providers/openai.ts';
import type { Reply } from './providers/provider.ts';
import { startReplay } from './replay.ts';

const modelAt = (baseURL: string): Model =>
  aiSdkModel(createOpenAICompatible({ name: 'replayed', baseURL, includeUsage: true })('m'));

const modelOf = async (t: ExecutionContext, ...replies: readonly Reply[]): Promise<Model> =>
  modelAt((await startReplay(t, ...replies)).baseUrl);

/** What `@ai-sdk/openai-compatible` does not let through. */
const upstream: Readonly<Record<string, string>> = {
  'vLLM: text': 'an answer without a finish reason is an error',
  'llama.cpp server: calls': 'arguments that are an object are refused',
  'LiteLLM: calls': 'an empty chunk of a call is refused',
  'Groq: text': 'tokens beside the usual place are not read',
};

for (const { name, ...shapes } of providers) {
  const play = (cell: string, title: string, run: (t: ExecutionContext) => Promise<void>): void => {
    const fault = upstream[`${name}: ${cell}`];
    if (fault === undefined) test(`${name}: ${title}`, run);
    else
      test(`${name}: ${cell} does not come through the package`, async (t) => {
        const inner = await t.try(run);
        inner.discard();
        t.false(inner.passed, `${fault} is mended upstream: the cell can be played`);
      });
  };

  play('text', 'a text is streamed, its tokens are counted, and it ends', async (t) => {
    const parts = await answerOf(await modelOf(t, shapes.text));
    t.is(joined(parts, 'text'), 'Hello');
    t.like(
      parts.find(({ type }) => type === 'usage'),
      { inputTokens: 5, outputTokens: 2 },
    );
    t.is(finishOf(parts), 'stop');
  });

  play('calls', 'two calls at once are made, each with its own arguments', async (t) => {
    t.deepEqual((await playAgent(await modelOf(t, shapes.calls, openai.text))).cities, ['Paris', 'Oslo']);
  });

  const { reasoning } = shapes;
  if (reasoning !== 'hidden')
    play('reasoning', 'reasoning is told apart from the text', async (t) => {
      const parts = await answerOf(await modelOf(t, reasoning));
      t.is(joined(parts, 'reasoning'), 'Think.');
      t.is(joined(parts, 'text'), 'Hello');
    });

  play('images', 'an image of a user is a part of the question', async (t) => {
    const { baseUrl, requests } = await startReplay(t, openai.text);
    t.is(await answerToImage(modelAt(baseUrl)), 'Hello');
    t.deepEqual(requests[0]?.body.messages, [imageSent]);
  });

  play('cut', 'a call that was cut is not made, and the model reads so', async (t) => {
    const { cities, results } = await playAgent(await modelOf(t, shapes.cut, openai.text));
    t.deepEqual(cities, []);
    t.is(results.length, 1);
    t.regex(results[0] ?? '', /Nothing was run/);
  });

  play('error', 'a failure has a reason for callers', async (t) => {
    const error = await t.throwsAsync(answerOf(await modelOf(t, shapes.error)));
    t.like(error, { reason: shapes.error.reason });
    t.notRegex(error.message, /pineapple/);
  });
}
