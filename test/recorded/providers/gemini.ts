import { call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

const signature = { extra_content: { google: { thought_signature: 'c2lnbmF0dXJl' } } };

export const gemini: Provider = {
  name: 'Gemini (OpenAI layer)',
  source: 'https://ai.google.dev/gemini-api/docs/openai; earendil-works/pi#6733; noho/dayu-agent#45',
  text: stream(
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ role: 'assistant', content: 'lo' }, 'stop', usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', tool_calls: [call(undefined, 'fa', 'weather', paris, signature)] }),
    chunk({ role: 'assistant', tool_calls: [call(undefined, 'fb', 'weather', oslo)] }),
    chunk({ role: 'assistant' }, 'tool_calls', usage),
  ),
  reasoning: 'hidden',
  cut: stream(chunk({ role: 'assistant', tool_calls: [call(undefined, 'fa', 'weather', '{}')] }, 'length', usage)),
  error: {
    ...refused(400, [
      {
        error: {
          code: 400,
          message: 'Function call is missing a thought_signature: pineapple',
          status: 'INVALID_ARGUMENT',
        },
      },
    ]),
    reason: 'refused_by_provider',
  },
};
