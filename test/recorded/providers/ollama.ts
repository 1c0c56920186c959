import { bare, call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const ollama: Provider = {
  name: 'Ollama',
  source: 'https://docs.ollama.com/api/openai-compatibility; ollama/ollama#15457, #4357',
  text: stream(
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ role: 'assistant', content: 'lo' }),
    chunk({ role: 'assistant', content: '' }, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_a', 'weather', paris)] }),
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_b', 'weather', oslo)] }),
    chunk({ role: 'assistant', content: '' }, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: '', reasoning: 'Thi' }),
    chunk({ role: 'assistant', content: '', reasoning: 'nk.' }),
    chunk({ role: 'assistant', content: 'Hello' }),
    chunk({ role: 'assistant', content: '' }, 'stop'),
    bare(usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: '', tool_calls: [call(0, 'call_a', 'weather', '{}')] }),
    chunk({ role: 'assistant', content: '' }, 'length'),
  ),
  error: {
    ...refused(404, {
      error: {
        message: 'model "pineapple" not found, try pulling it first',
        type: 'api_error',
        param: null,
        code: null,
      },
    }),
    reason: 'not_found',
  },
};
