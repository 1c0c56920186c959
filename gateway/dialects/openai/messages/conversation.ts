import { isCall, type Block } from '@agent-workflow/protos/message';
import { askingRunId, isQuestionId } from '../../common/questions.ts';
import type { NewMessage } from '../../common/run-order.ts';
import { readCallId } from '../ids/call-id.ts';
import { toAnswer } from './call.ts';

/** A message of a request, as the service takes it. */
export interface ReadMessage extends NewMessage {
  /** Of a result: the id of its call as the caller sent it, and what it says. */
  readonly result?: { readonly callId: string; readonly output: string };
}

/** What the last part of a conversation answers. */
interface Pending {
  /** The run that waits for it. */
  readonly runId: string;
}

/** What stands behind the last message of the assistant: what the caller adds to the conversation. */
export const addedBy = (messages: readonly ReadMessage[]): readonly ReadMessage[] =>
  messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);

/** The run that the added messages answer; `undefined` where they answer none of this service. */
export function pendingIn(messages: readonly ReadMessage[]): Pending | undefined {
  for (const { result } of addedBy(messages)) {
    const named = result && readCallId(result.callId);
    if (named) return { runId: named.runId };
  }
  return undefined;
}

/** The run of a question in the last message of the assistant. Its answer may have come from others, and the conversation has none. */
export function askedIn(messages: readonly ReadMessage[]): Pending | undefined {
  const last = messages.findLast(({ role }) => role === 'assistant');
  const blocks = Array.isArray(last?.content) ? (last.content as readonly Block[]) : [];
  const question = blocks.find((block) => isCall(block) && isQuestionId(block.id));
  return question && { runId: askingRunId(question['id'] as string) };
}

/** The messages without the answers to questions among them. */
export const withoutAnswers = (messages: readonly ReadMessage[]): readonly ReadMessage[] =>
  messages.filter(({ result }) => !isQuestionId((result && readCallId(result.callId)?.callId) ?? ''));

interface Given {
  readonly messages: readonly NewMessage[];
  /** Answers by the ids of their questions; absent: none. */
  readonly resume?: Readonly<Record<string, unknown>>;
}

/** The messages of a run, and the answers to questions among them, where a run waits for these. */
export function toGiven(messages: readonly ReadMessage[], answersQuestions: boolean): Given {
  const answers = new Map<string, unknown>();
  const rest: NewMessage[] = [];
  for (const { result, ...message } of messages) {
    const callId = result && readCallId(result.callId)?.callId;
    if (result && answersQuestions && callId !== undefined && isQuestionId(callId))
      answers.set(callId, toAnswer(result.output));
    else rest.push(message);
  }
  return { messages: rest, ...(answers.size > 0 && { resume: Object.fromEntries(answers) }) };
}
