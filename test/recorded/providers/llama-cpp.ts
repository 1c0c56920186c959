import { bare, call, chunk, refused, stream, usage, type Provider } from './provider.ts';

export const llamaCpp: Provider = {
  name: 'llama.cpp server',
  source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; ggml-org/llama.cpp#20198',
  text: stream(
    chunk({ role: 'assistant', content: null }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop'),
    bare({ ...usage, timings: { predicted_n: 2 } }),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null }),
    chunk({ tool_calls: [call(0, 'a', 'weather', { city: 'Paris' })] }),
    chunk({ tool_calls: [call(1, 'b', 'weather', { city: 'Oslo' })] }),
    chunk({}, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: null }),
    chunk({ reasoning_content: 'Think.' }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: null }),
    chunk({ tool_calls: [call(0, 'a', 'weather', '{"city":')] }),
    chunk({}, 'length'),
    bare(usage),
  ),
  error: {
    ...refused(400, {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, pineapple',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9000,
        n_ctx: 4096,
      },
    }),
    reason: 'context_too_long',
  },
};
