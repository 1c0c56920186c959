import { bare, call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

export const dashscope: Provider = {
  name: 'Qwen (DashScope)',
  source: 'https://help.aliyun.com/zh/model-studio/compatibility-of-openai-with-dashscope; symfony/ai#2220',
  text: stream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hello' }),
    chunk({ content: '' }, 'stop'),
    bare(usage),
  ),
  calls: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({ content: null, tool_calls: [call(0, '', '', paris.slice(0, 4))] }),
    chunk({ content: null, tool_calls: [call(0, '', '', paris.slice(4))] }),
    chunk({ content: null, tool_calls: [call(1, 'call_b', 'weather', '')] }),
    chunk({ content: null, tool_calls: [call(1, '', '', oslo)] }),
    chunk({ content: '' }, 'tool_calls'),
    bare(usage),
  ),
  reasoning: stream(
    chunk({ role: 'assistant', content: null, reasoning_content: '' }),
    chunk({ content: null, reasoning_content: 'Think.' }),
    chunk({ content: 'Hello', reasoning_content: null }),
    chunk({ content: '' }, 'stop'),
    bare(usage),
  ),
  cut: stream(
    chunk({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    chunk({ content: null }, 'length'),
    bare(usage),
  ),
  error: {
    ...refused(400, {
      error: {
        code: 'invalid_parameter_error',
        param: null,
        message: 'Range of input length should be [1, 98304], pineapple',
        type: 'invalid_request_error',
      },
      request_id: 'r1',
    }),
    reason: 'refused_by_provider',
  },
};
