import { bare, call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const openai: Provider = {
  name: 'OpenAI',
  source: 'https://platform.openai.com/docs/api-reference/chat-streaming',
  text: stream(
    chunk({ role: 'assistant', content: '', refusal: null }),
    chunk({ content: 'Hel' }),
    chunk({ content: 'lo' }),
    chunk({}, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, undefined, undefined, paris.slice(0, 7))] }),
    chunk({ tool_calls: [call(0, undefined, undefined, paris.slice(7))] }),
    chunk({ tool_calls: [call(1, 'call_b', 'weather', '')] }),
    chunk({ tool_calls: [call(1, undefined, undefined, oslo)] }),
    chunk({}, 'tool_calls'),
    bare(usage),
  ),
  reasoning: 'hidden',
  cut: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, undefined, undefined, '{"ci')] }),
    chunk({}, 'length'),
    bare(usage),
  ),
  error: {
    ...refused(400, {
      error: {
        message: "Unsupported parameter: 'temperature', pineapple",
        type: 'invalid_request_error',
        param: 'temperature',
        code: 'unsupported_parameter',
      },
    }),
    reason: 'refused_by_provider',
  },
};
