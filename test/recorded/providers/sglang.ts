import { bare, call, chunk, oslo, paris, stream, usage, type Provider } from './provider.ts';

export const sglang: Provider = {
  name: 'SGLang',
  source: 'https://docs.sglang.ai/basic_usage/openai_api_completions; sgl-project/sglang#3912',
  text: stream(
    chunk({ role: 'assistant', content: '' }, ''),
    chunk({ role: null, content: 'Hello', tool_calls: null }, ''),
    chunk({}, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null }, null),
    chunk({ tool_calls: [call(0, 'call_a', 'weather', paris)] }),
    chunk({ tool_calls: [call(1, 'call_b', 'weather', '')] }),
    chunk({ tool_calls: [call(1, null, null, oslo)] }),
    chunk({}, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: '', reasoning_content: null }),
    chunk({ content: null, reasoning_content: 'Think.' }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({}, 'length'),
  ),
  error: {
    ...stream({
      error: {
        object: 'error',
        message: 'The server failed: pineapple',
        type: 'InternalServerError',
        param: null,
        code: 500,
      },
    }),
    reason: 'provider_error',
  },
};
