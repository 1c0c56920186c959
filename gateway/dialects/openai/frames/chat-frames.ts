import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { betweenMessages, commonOf, finishOf, toToolCall } from '../out/chat-completion.ts';
import type { RunResult } from '../out/run-result.ts';
import { toChatUsage } from '../out/usage.ts';
import { failureBody } from '../replies/refusal.ts';
import { chatFrame } from './sse.ts';
import type { AddressOf } from '../../common/file-addresses.ts';
import { createAnswerReader } from './answer-events.ts';

interface ChatFramesOptions {
  readonly scope: RunScope;
  readonly model: string;
  /** Whether the last chunk counts the tokens. */
  readonly countsUsage: boolean;
  readonly addressOf: AddressOf;
}

/** Makes the chunks of a chat completion from the events of its run. */
export function createChatFrames({ scope, model, countsUsage, addressOf }: ChatFramesOptions) {
  const read = createAnswerReader(addressOf);
  let common: object = {};
  let last: string | undefined;

  const chunk = (delta: object, finish: string | null = null): Uint8Array =>
    chatFrame({
      ...common,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(countsUsage && { usage: null }),
    });

  /** A message behind another one is a paragraph of its own. */
  const text = (messageId: string, given: string, name: string): Uint8Array => {
    const before = last === undefined || last === messageId ? '' : betweenMessages;
    last = messageId;
    return chunk({ [name]: `${before}${given}` });
  };

  const calls = ({ calls: asked }: RunResult): Uint8Array[] =>
    asked
      .map(toToolCall)
      .flatMap((call, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: '' } }] }),
        chunk({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] }),
      ]);

  const ended = (result: RunResult): Uint8Array[] => [
    ...calls(result),
    chunk({}, finishOf(result)),
    ...(countsUsage ? [chatFrame({ ...common, choices: [], usage: toChatUsage(result.usage) })] : []),
    chatFrame('[DONE]'),
  ];

  return (event: RunEvent): Promise<readonly Uint8Array[]> =>
    Promise.resolve(
      read(event).flatMap((part) => {
        switch (part.type) {
          case 'begun':
            common = commonOf({ runId: scope.runId, model, at: event.at }, 'chat.completion.chunk');
            return [chunk({ role: 'assistant', content: '', refusal: null })];
          case 'text':
            return [text(part.messageId, part.text, 'content')];
          case 'reasoning':
            return [text(part.messageId, part.text, 'reasoning_content')];
          case 'left':
            last = '';
            return [];
          case 'ended':
            return ended(part.result);
          case 'failed':
            return [chatFrame({ error: failureBody(part.failure) })];
          default:
            return [];
        }
      }),
    );
}
