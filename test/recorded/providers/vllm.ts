import { bare, call, chunk, oslo, paris, stream, usage, type Provider } from './provider.ts';

export const vllm: Provider = {
  name: 'vLLM',
  source: 'https://docs.vllm.ai/en/latest/features/reasoning_outputs; vllm-project/vllm#27572',
  // A server that gives no reason why it ended.
  text: stream(chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hello' }), bare(usage)),
  calls: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, 'chatcmpl-tool-other', undefined, paris.slice(0, 9))] }),
    chunk({ tool_calls: [call(0, undefined, undefined, paris.slice(9))] }),
    chunk({ tool_calls: [call(1, 'chatcmpl-tool-b', 'weather', '')] }),
    chunk({ tool_calls: [call(1, undefined, undefined, oslo)] }),
    chunk({ content: '' }, 'tool_calls', { stop_reason: null }),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning: 'Thi', reasoning_content: 'Thi' }),
    chunk({ reasoning: 'nk.', reasoning_content: 'nk.' }),
    chunk({ content: 'Hello' }),
    chunk({ content: '' }, 'stop'),
    bare(usage),
  ),
  // The cut is named `tool_calls` (vllm-project/vllm#58228).
  cut: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', '{"city": "Pa')] }),
    chunk({ content: '' }, 'tool_calls'),
  ),
  error: {
    ...stream(chunk({ role: 'assistant', content: 'Half' }), {
      error: { object: 'error', message: 'EngineCore pineapple', type: 'InternalServerError', param: null, code: 500 },
    }),
    reason: 'provider_error',
  },
};
