import { call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const together: Provider = {
  name: 'Together',
  source: 'https://docs.together.ai/docs/openai-api-compatibility, /reference/chat-completions',
  text: stream(
    chunk({ role: 'assistant', content: 'Hel', token_id: 1 }),
    chunk({ content: 'lo', token_id: 2 }),
    chunk({ content: '', token_id: 3 }, 'eos', usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, '', '', paris)] }),
    chunk({ tool_calls: [call(1, 'call_b', 'weather', oslo)] }),
    chunk({ content: '' }, 'tool_calls', usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', reasoning: 'Thi' }),
    chunk({ reasoning: 'nk.' }),
    chunk({ content: 'Hello' }),
    chunk({ content: '' }, 'stop', usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_a', 'weather', '{"ci')] }),
    chunk({ content: '' }, 'length', usage),
  ),
  error: {
    ...refused(422, {
      id: 'o1',
      error: {
        message: 'Input validation error, pineapple',
        type: 'invalid_request_error',
        param: 'max_tokens',
        code: null,
      },
    }),
    reason: 'refused_by_provider',
  },
};
