import { textOf } from '@agent-workflow/protos/message';
import { hexOf } from '../ids/shown-id.ts';
import { thoughtOf, type FunctionCall, type RunResult } from './run-result.ts';
import { toChatUsage } from './usage.ts';

/** What stands in each reply and chunk of one completion. */
interface Completion {
  readonly runId: string;
  readonly model: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** Between two messages of the agent in one answer. */
export const betweenMessages = '\n\n';

/** The fields that replies and chunks have in common. */
export const commonOf = ({ runId, model, at }: Completion, object: string): Readonly<Record<string, unknown>> => ({
  ...{ id: `chatcmpl-${hexOf(runId)}`, object, created: Math.floor(at / 1000), model },
  ...{ service_tier: 'default', system_fingerprint: null },
});

/** The reply to a chat completion that is not streamed. */
export function toChatCompletion(completion: Completion, result: RunResult): object {
  const { messages, calls, usage } = result;
  const text = messages.map(textOf).filter(Boolean).join(betweenMessages);
  const thought = messages.map(thoughtOf).filter(Boolean).join(betweenMessages);
  const message = {
    ...{ role: 'assistant', content: text === '' && calls.length > 0 ? null : text, refusal: null, annotations: [] },
    ...(thought !== '' && { reasoning_content: thought }),
    ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
  };
  return {
    ...commonOf(completion, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(result) }],
    usage: toChatUsage(usage),
  };
}

export const toToolCall = ({ id, name, arguments: json }: FunctionCall) => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});

/** Why a completion ended. */
export const finishOf = ({ calls, cut }: RunResult): string => (calls.length > 0 ? 'tool_calls' : (cut ?? 'stop'));
