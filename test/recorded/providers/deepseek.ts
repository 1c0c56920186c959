import { call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const deepseek: Provider = {
  name: 'DeepSeek',
  source: 'https://api-docs.deepseek.com/guides/thinking_mode; earendil-works/pi#3636',
  text: stream(
    ': keep-alive',
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hello' }),
    chunk({ content: '' }, 'stop', usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null, reasoning_content: '' }),
    chunk({ reasoning_content: 'Both.' }),
    chunk({ content: null, tool_calls: [call(0, 'call_00_a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, undefined, undefined, paris)] }),
    chunk({ tool_calls: [call(1, 'call_01_b', 'weather', '')] }),
    chunk({ tool_calls: [call(1, undefined, undefined, oslo)] }),
    chunk({ content: '', reasoning_content: null }, 'tool_calls', usage),
  ),
  reasoning: stream(
    ': keep-alive',
    chunk({ role: 'assistant', content: null, reasoning_content: '' }),
    chunk({ content: null, reasoning_content: 'Thi' }),
    chunk({ content: null, reasoning_content: 'nk.' }),
    chunk({ content: 'Hello', reasoning_content: null }),
    chunk({ content: '', reasoning_content: null }, 'stop', usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_00_a', 'weather', '{"city":')] }),
    chunk({ content: '' }, 'length', usage),
  ),
  error: {
    ...refused(402, {
      error: {
        message: 'Insufficient Balance pineapple',
        type: 'unknown_error',
        param: null,
        code: 'invalid_request_error',
      },
    }),
    reason: 'refused_by_provider',
  },
};
