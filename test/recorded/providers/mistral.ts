import { call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const mistral: Provider = {
  name: 'Mistral',
  source: 'https://docs.mistral.ai/capabilities/reasoning; BerriAI/litellm#16272; vercel/ai#13703',
  text: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hello' }),
    chunk({ content: '' }, 'stop', usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk(
      { content: '', tool_calls: [call(0, 'aB3dE6gH9', 'weather', paris), call(1, 'iJ2kL5mN8', 'weather', oslo)] },
      'tool_calls',
      usage,
    ),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Thi' }] }] }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'nk.' }] }] }),
    chunk({ content: [{ type: 'text', text: 'Hel' }] }),
    chunk({ content: 'lo' }),
    chunk({ content: '' }, 'stop', usage),
  ),
  cut: stream(
    chunk(
      { role: 'assistant', content: '', tool_calls: [call(0, 'aB3dE6gH9', 'weather', '{"city": "Pa')] },
      'length',
      usage,
    ),
  ),
  error: {
    ...refused(400, {
      object: 'error',
      message: 'Invalid model: pineapple',
      type: 'invalid_model',
      param: null,
      code: '1500',
    }),
    reason: 'refused_by_provider',
  },
};
