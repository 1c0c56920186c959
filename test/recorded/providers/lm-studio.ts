import { bare, call, chunk, oslo, paris, stream, usage, type Provider } from './provider.ts';

export const lmStudio: Provider = {
  name: 'LM Studio',
  source: 'https://lmstudio.ai/docs/developer/openai-compat',
  text: stream(chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: 'lo' }), chunk({}, 'stop'), bare(usage)),
  calls: stream(
    chunk({ role: 'assistant', tool_calls: [call(0, '1', 'weather', '')] }),
    chunk({ tool_calls: [call(0, undefined, undefined, paris)] }),
    chunk({ tool_calls: [call(1, '2', 'weather', '')] }),
    chunk({ tool_calls: [call(1, undefined, undefined, oslo)] }),
    chunk({}, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', reasoning: 'Thi' }),
    chunk({ reasoning: 'nk.' }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  cut: stream(chunk({ role: 'assistant', tool_calls: [call(0, '1', 'weather', '')] }), chunk({}, 'length')),
  error: {
    ...stream('event: error\ndata: {"error":{"message":"The model has crashed, pineapple"}}'),
    reason: 'provider_error',
  },
};
