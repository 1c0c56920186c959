import { bare, call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const anthropic: Provider = {
  name: 'Anthropic (OpenAI layer)',
  source: 'https://docs.claude.com/en/api/openai-sdk',
  text: stream(
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ content: 'lo' }),
    chunk({ content: '' }, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: 'I look.' }),
    chunk({ tool_calls: [call(0, 'toolu_a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, null, null, paris)] }),
    chunk({ tool_calls: [call(1, 'toolu_b', 'weather', '')] }),
    chunk({ tool_calls: [call(1, null, null, oslo)] }),
    chunk({ content: '' }, 'tool_calls'),
    bare(usage),
  ),
  reasoning: 'hidden',
  cut: stream(
    chunk({ role: 'assistant', tool_calls: [call(0, 'toolu_a', 'weather', '')] }),
    chunk({ content: '' }, 'length'),
    bare(usage),
  ),
  error: {
    ...refused(401, {
      error: {
        code: 'authentication_error',
        message: 'invalid x-api-key pineapple',
        type: 'authentication_error',
        param: null,
      },
    }),
    reason: 'credentials_refused',
  },
};
