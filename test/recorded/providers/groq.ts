import { call, chunk, oslo, paris, stream, tokens, type Provider } from './provider.ts';

export const groq: Provider = {
  name: 'Groq',
  source: 'https://console.groq.com/docs/reasoning, /docs/tool-use, /docs/errors',
  text: stream(
    chunk({ role: 'assistant', content: '' }, null, { x_groq: { id: 'req_1' } }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop', { x_groq: { id: 'req_1', usage: { ...tokens, queue_time: 0.1 } } }),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null }),
    chunk({ tool_calls: [call(0, 'fc_a', 'weather', paris), call(1, 'fc_b', 'weather', oslo)] }),
    chunk({}, 'tool_calls', { x_groq: { usage: tokens } }),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning: 'Think.', channel: 'analysis' }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop'),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: null }),
    chunk({ tool_calls: [call(0, 'fc_a', 'weather', '{}')] }),
    chunk({}, 'length'),
  ),
  error: {
    ...stream(
      chunk({ role: 'assistant', content: 'Half' }),
      'event: error\ndata: {"error":{"message":"Failed to call a function, pineapple","type":"invalid_request_error","code":"tool_use_failed"}}',
    ),
    reason: 'provider_error',
  },
};
