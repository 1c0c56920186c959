import { idFault } from '@agent-workflow/protos/message';
import { isOpen } from '@agent-workflow/protos/lists';
import { questionsIn } from '@agent-workflow/protos/task-status';
import type { Run } from '@agent-workflow/protos/threads';
import { invalidAt } from '../../../http/fields.ts';
import { toAnswer } from '../messages/from-parts.ts';
import { a2aError } from '../replies/reasons.ts';
import type { A2aMessage } from '../schemas/messages.ts';

/** The thread that a context is; `undefined` for a new one. @throws Invalid */
export function contextOf({ contextId }: A2aMessage): string | undefined {
  if (contextId === undefined || contextId === '') return undefined;
  const fault = idFault(contextId);
  if (fault) throw invalidAt(['body', 'message', 'contextId'], fault.msg, fault.type);
  return contextId;
}

/**
 * What a message to a task answers, by question.
 * @throws UnsupportedOperation for a task that asks nothing, Invalid where the answer names none of several questions
 */
export function answersOf(last: Run, { parts }: A2aMessage): Readonly<Record<string, unknown>> {
  if (isOpen(last.status))
    throw a2aError('UNSUPPORTED_OPERATION', 'the task is under way: it takes a message when it requires input');
  if (last.status !== 'interrupted')
    throw a2aError('UNSUPPORTED_OPERATION', 'the task has ended: begin another one in its context');
  const questions = questionsIn(last.end?.interruptsJson);
  const [only] = questions;
  if (!only)
    throw a2aError('UNSUPPORTED_OPERATION', 'the task waits for the results of tools, which another client has');
  const answer = toAnswer(parts);
  const ids = new Set(questions.map(({ id }) => id));
  if (namesQuestions(answer, ids)) return answer;
  if (questions.length === 1) return { [only.id]: answer };
  throw invalidAt(
    ['body', 'message', 'parts'],
    `must be one part whose data has answers by the ids of the questions: ${[...ids].join(', ')}`,
  );
}

const namesQuestions = (answer: unknown, ids: ReadonlySet<string>): answer is Readonly<Record<string, unknown>> => {
  if (typeof answer !== 'object' || answer === null) return false;
  const names = Object.keys(answer);
  return names.length > 0 && names.every((name) => ids.has(name));
};
