import { bare, call, chunk, oslo, paris, stream, usage, type Provider } from './provider.ts';

export const litellm: Provider = {
  name: 'LiteLLM',
  source: 'https://docs.litellm.ai/docs/reasoning_content; BerriAI/litellm#21331, #17425',
  text: stream(
    chunk({ role: 'assistant', content: 'Hello' }, null, { citations: null }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, null, null, paris)] }),
    chunk({ tool_calls: [{}, call(0, 'call_b', 'weather', '')] }),
    chunk({ tool_calls: [call(0, null, null, oslo)] }),
    chunk({}, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({
      role: 'assistant',
      reasoning_content: 'Thi',
      thinking_blocks: [{ type: 'thinking', thinking: 'Thi', signature: null }],
    }),
    chunk({ reasoning_content: 'nk.', thinking_blocks: [{ type: 'thinking', thinking: 'nk.', signature: null }] }),
    chunk({ reasoning_content: '', thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'c2ln' }] }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '{}')] }),
    chunk({ tool_calls: [call(0, null, null, '{"city":')] }),
    chunk({}, 'length'),
  ),
  error: {
    ...stream(chunk({ role: 'assistant', content: 'Half' }), {
      error: { message: 'litellm.APIError: pineapple', type: null, param: null, code: '429' },
    }),
    reason: 'rate_limited',
  },
};
