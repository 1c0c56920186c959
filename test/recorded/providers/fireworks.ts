import { call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const fireworks: Provider = {
  name: 'Fireworks',
  source: 'https://docs.fireworks.ai/guides/function-calling; SillyTavern/SillyTavern#5948',
  text: stream(chunk({ role: 'assistant' }), chunk({ content: 'Hello' }), chunk({}, 'stop', usage)),
  calls: stream(
    chunk({ role: 'assistant', tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', '', { name: null })] }),
    chunk({ tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', paris.slice(0, 5), { name: null })] }),
    chunk({ tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', paris.slice(5), { name: null })] }),
    chunk({ tool_calls: [call(1, 'chatcmpl-tool-b', 'weather', '', { name: null })] }),
    chunk({ tool_calls: [call(1, 'chatcmpl-tool-b', 'weather', oslo, { name: null })] }),
    chunk({}, 'tool_calls', usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant' }),
    chunk({ reasoning_content: 'Think.' }),
    chunk({ content: 'Hello' }),
    chunk({}, 'stop', usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', '')] }),
    chunk({ tool_calls: [call(0, 'chatcmpl-tool-a', 'weather', '{"')] }),
    chunk({}, 'length', usage),
  ),
  error: {
    ...refused(400, {
      error: {
        object: 'error',
        type: 'invalid_request_error',
        code: 'invalid_request_error',
        message: 'The prompt is too long: pineapple',
      },
    }),
    reason: 'context_too_long',
  },
};
