import { namesQuestion } from '@agent-workflow/protos/question-id';
import type { OpenCall } from '@agent-workflow/protos/threads';
import type { Head, RunRecord } from '../ports/record.ts';

/** What of a run decides where it begins. */
export type Continuing = Pick<RunRecord, 'answers' | 'hasNewInput'> & {
  readonly resume?: RunRecord['resume'] | undefined;
};

/** Whether the thread waits for its caller: for answers, or for results of tools. */
export const waitsForCaller = ({ openInterrupts, openCalls }: Head): boolean =>
  openInterrupts.length > 0 || openCalls.length > 0;

/** Whether the run begins at the start of the graph, and not where the thread stands. */
export function startsAnew(head: Head, { answers, hasNewInput, resume }: Continuing): boolean {
  if (!hasNewInput || resume !== undefined) return false;
  return answers.length === 0 || unanswered(head, answers).length > 0;
}

/** The open calls without an answer among these. */
export function unanswered({ openCalls }: Head, answers: readonly string[]): readonly OpenCall[] {
  const answered = new Set(answers);
  return openCalls.filter(({ callId }) => !answered.has(callId));
}

/**
 * Whether an answer matches the open questions: by ids, all of them open, or bare, when one question is open. An answer to a question that is not
 * open any more is no bare answer to another.
 */
export function matchesInterrupts(keys: readonly string[], { openInterrupts }: Head): boolean {
  if (keys.length > 0 && keys.every((key) => openInterrupts.includes(key))) return true;
  return openInterrupts.length === 1 && !keys.some(namesQuestion);
}
