import { bare, call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const xai: Provider = {
  name: 'xAI',
  source: 'https://docs.x.ai/docs/guides/reasoning, /docs/guides/function-calling',
  text: stream(
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ role: 'assistant', content: 'lo' }),
    chunk({ role: 'assistant', content: '' }, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({
      role: 'assistant',
      content: '',
      tool_calls: [call(0, 'call_a', 'weather', paris), call(1, 'call_b', 'weather', oslo)],
    }),
    chunk({ content: '' }, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', reasoning_content: 'Thi' }),
    chunk({ role: 'assistant', reasoning_content: 'nk.' }),
    chunk({ role: 'assistant', content: 'Hello' }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_a', 'weather', '{"city":"Pa')] }),
    chunk({}, 'length'),
    bare(usage),
  ),
  error: {
    ...refused(400, { code: 'Client specified an invalid argument', error: 'Incorrect value of pineapple' }),
    reason: 'refused_by_provider',
  },
};
