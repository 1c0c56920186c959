import { bare, call, chunk, oslo, paris, refused, stream, usage, type Provider } from './provider.ts';

/** A chunk with what the filter found beside its choice. */
const filtered = (delta: Readonly<Record<string, unknown>>, finish: string | null = null): ReturnType<typeof chunk> =>
  chunk({}, null, {
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null, content_filter_results: {} }],
  });

export const azure: Provider = {
  name: 'Azure OpenAI',
  source: 'https://learn.microsoft.com/azure/ai-foundry/openai/reference; Azure-Samples/azure-search-openai-demo#2076',
  text: stream(
    bare({
      prompt_filter_results: [
        { prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } },
      ],
    }),
    filtered({ role: 'assistant', content: '' }),
    filtered({ content: 'Hello' }),
    filtered({}, 'stop'),
    bare(usage),
  ),
  calls: stream(
    bare({ prompt_filter_results: [] }),
    filtered({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    filtered({ tool_calls: [call(0, undefined, undefined, paris)] }),
    filtered({ tool_calls: [call(1, 'call_b', 'weather', '')] }),
    filtered({ tool_calls: [call(1, undefined, undefined, oslo)] }),
    filtered({}, 'tool_calls'),
    bare(usage),
  ),
  reasoning: 'hidden',
  cut: stream(
    filtered({ role: 'assistant', content: null, tool_calls: [call(0, 'call_a', 'weather', '')] }),
    filtered({}, 'length'),
  ),
  error: {
    ...refused(400, {
      error: {
        message: 'The response was filtered: pineapple',
        type: null,
        param: 'prompt',
        code: 'content_filter',
        status: 400,
        innererror: { code: 'ResponsibleAIPolicyViolation' },
      },
    }),
    reason: 'content_filtered',
  },
};
