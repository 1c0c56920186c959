import { isCall, textOf, type Block, type Message } from '@agent-workflow/protos/message';
import { argumentsText } from '../messages/call.ts';
import { hexOf, shownId } from '../ids/shown-id.ts';
import { thoughtOf, type FunctionCall, type RunResult } from './run-result.ts';

type Item = Readonly<Record<string, unknown>>;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** A part of an answer's text. */
export const outputText = (text: string): Item => ({ type: 'output_text', text, annotations: [], logprobs: [] });

/** The text of one message of the agent. */
export const messageItem = (messageId: string, text: string | undefined, status: ItemStatus): Item => ({
  ...{ id: shownId('msg', messageId), type: 'message', status, role: 'assistant' },
  content: text === undefined ? [] : [outputText(text)],
});

const reasoningId = (messageId: string): string => shownId('msg', messageId).replace('msg_', 'rs_');

/** What a model thought before a message. */
export const reasoningItem = (messageId: string, text: string | undefined, status: ItemStatus): Item => ({
  ...{ id: reasoningId(messageId), type: 'reasoning', status, summary: [] },
  content: text === undefined ? [] : [{ type: 'reasoning_text', text }],
});

/** The call of a function; `index`: which of its run. */
export const callItem = (
  runId: string,
  index: number,
  { id, name, arguments: json }: FunctionCall,
  status: ItemStatus,
): Item => ({
  ...{ id: `fc_${hexOf(runId)}${String(index)}`, type: 'function_call', status, call_id: id, name },
  arguments: status === 'in_progress' ? '' : json,
});

/** All that a run gave its caller, in order. */
export const outputOf = (
  runId: string,
  { messages, calls }: Pick<RunResult, 'messages' | 'calls'>,
): readonly Item[] => [
  ...messages.flatMap((message) => itemsOfAnswer(message)),
  ...calls.map((call, index) => callItem(runId, index, call, 'completed')),
];

function itemsOfAnswer(message: Message): Item[] {
  const [thought, text] = [thoughtOf(message), textOf(message)];
  return [
    ...(thought === '' ? [] : [reasoningItem(message.message_id, thought, 'completed')]),
    ...(text === '' ? [] : [messageItem(message.message_id, text, 'completed')]),
  ];
}

/** A message of a thread as items: one with its content, one for each call, one for each result. */
export function itemsOf(message: Message): readonly Item[] {
  const { message_id: id, role, content } = message;
  const shown = shownId('msg', id);
  const calls = content.filter(isCall).map(({ id: callId, name, args }, index) => ({
    ...{ id: `${shown}.${String(index)}`, type: 'function_call', status: 'completed', call_id: callId, name },
    arguments: argumentsText(args),
  }));
  const results = content.flatMap((block, index) =>
    block.type === 'tool_result'
      ? [
          {
            ...{ id: `${shown}.${String(index)}`, type: 'function_call_output', status: 'completed' },
            call_id: block['call_id'],
            output: outputTextOf(block['output']),
          },
        ]
      : [],
  );
  const spoken = content.filter(
    (block) => !isCall(block) && block.type !== 'tool_result' && block.type !== 'reasoning',
  );
  const isShown = role !== 'tool' && (spoken.length > 0 || calls.length === 0);
  const parts = spoken.map((block) => partOf(block, role));
  return [
    ...(isShown ? [{ id: shown, type: 'message', status: 'completed', role, content: parts }] : []),
    ...calls,
    ...results,
  ];
}

const outputTextOf = (output: unknown): string =>
  typeof output === 'string' ? output : JSON.stringify(output ?? null);

function partOf(block: Block, role: Message['role']): object {
  const { type, text } = block;
  if (type !== 'text' || typeof text !== 'string') return block;
  return role === 'assistant' ? outputText(text) : { type: 'input_text', text };
}
