import type { Block, Message } from '@agent-workflow/client';
import { contextOf, type StepRecord } from './step-record.ts';
import type { TraceSpan } from '@agent-workflow/client';

/** The messages that a model was sent: those of the thread, and how many could not be found. */
interface SentMessages {
  readonly messages: readonly Message[];
  /** Of those that were in the thread. */
  readonly missing: number;
  /** Made for this call alone: they are in no thread. */
  readonly other: number;
}

/** Finds the messages that a model was sent by the ends of the parts that they stand in. */
export function sentBy({ sent }: TraceSpan, { before, step }: StepRecord): SentMessages {
  const context = contextOf(before);
  const known = [...context, ...(step?.messages ?? [])];
  const places = new Map(known.map(({ message_id: id }, at) => [id, at]));
  const messages: Message[] = [];
  let missing = 0;
  for (const { from, to, count } of sent?.ranges ?? []) {
    const [first, last] = [places.get(from), places.get(to)];
    const found = first === undefined || last === undefined ? [] : known.slice(first, last + 1);
    messages.push(...found);
    missing += Math.max(0, count - found.length);
  }
  return { messages, missing, other: sent?.other ?? 0 };
}

/** The message that an answer of a model became. */
export const answerOf = ({ message_id: id }: TraceSpan, { step }: StepRecord): Message | undefined =>
  id === undefined ? undefined : step?.messages.find((message) => message.message_id === id);

/** A call of a tool as the model asked for it, and what it gave. */
interface ToolCall {
  readonly asked?: Block;
  readonly result?: Block;
}

export function callOf({ call_id: id }: TraceSpan, { before, step }: StepRecord): ToolCall {
  if (id === undefined) return {};
  const blocks = [...contextOf(before), ...(step?.messages ?? [])].flatMap(({ content }) => content);
  const asked = blocks.findLast(
    (block) => (block.type === 'tool_call' || block.type === 'remote_tool_call') && block['id'] === id,
  );
  const result = blocks.findLast((block) => block.type === 'tool_result' && block['call_id'] === id);
  return { ...(asked && { asked }), ...(result && { result }) };
}

/** What a node or a branch has given: the fields that it changed, and its messages. */
interface NodeOutput {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
  /** Of its messages, those that are not named on record. */
  readonly unnamed: number;
}

/** A span that is all of its step has given all of it. */
export function outputOf({ output }: TraceSpan, { step }: StepRecord, isWholeStep: boolean): NodeOutput | undefined {
  if (!step) return undefined;
  if (isWholeStep) return { fields: step.changed, messages: step.messages, unnamed: 0 };
  if (!output) return undefined;
  const ids = new Set(output.message_ids);
  const names = new Set(output.fields);
  return {
    fields: Object.fromEntries(Object.entries(step.changed).filter(([name]) => names.has(name))),
    messages: step.messages.filter(({ message_id: id }) => ids.has(id)),
    unnamed: Math.max(0, output.messages - ids.size),
  };
}
