import { call, chunk, oslo, paris, stream, usage, type Provider } from './provider.ts';

export const openrouter: Provider = {
  name: 'OpenRouter',
  source:
    'https://openrouter.ai/docs/use-cases/reasoning-tokens, /docs/api-reference/errors; langchain-ai/langchainjs#11699',
  text: stream(
    ': OPENROUTER PROCESSING',
    chunk({ role: 'assistant', content: 'Hello' }),
    chunk({ role: 'assistant', content: '' }, 'stop'),
    ': OPENROUTER PROCESSING',
    chunk({ role: 'assistant', content: '' }, null, usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'tool_a', 'weather', '')] }),
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, null, null, paris)] }),
    chunk({ role: 'assistant', content: null, tool_calls: [call(1, 'tool_b', 'weather', oslo)] }),
    chunk({ role: 'assistant', content: '' }, 'tool_calls', usage),
  ),
  reasoning: stream(
    chunk({
      role: 'assistant',
      content: '',
      reasoning: 'Thi',
      reasoning_details: [{ type: 'reasoning.text', text: 'Thi', format: 'anthropic-claude-v1', index: 0 }],
    }),
    chunk({
      role: 'assistant',
      content: '',
      reasoning: 'nk.',
      reasoning_details: [{ type: 'reasoning.text', text: 'nk.', format: 'anthropic-claude-v1', index: 0 }],
    }),
    chunk({
      role: 'assistant',
      content: '',
      reasoning_details: [{ type: 'reasoning.text', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 }],
    }),
    chunk({ role: 'assistant', content: 'Hello' }),
    chunk({ role: 'assistant', content: '' }, 'stop', usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'tool_a', 'weather', '')] }),
    chunk({ role: 'assistant', content: '' }, 'length', usage),
  ),
  error: {
    ...stream(
      chunk({ role: 'assistant', content: 'Half' }),
      chunk({ content: '' }, 'error', { error: { code: 502, message: 'Provider pineapple' } }),
    ),
    reason: 'provider_error',
  },
};
