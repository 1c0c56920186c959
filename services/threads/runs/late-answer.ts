import { conflict, type ServiceError } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import type { RunRecord } from '../ports/record.ts';
import { fromJson } from '../record/json.ts';

/** What a run has in its options that a deadline has begun. */
export interface PassedOptions {
  /** The defaults by the ids of the questions. */
  readonly resume: Readonly<Record<string, unknown>>;
  /** The questions whose deadlines have passed; those without a default have no answer in `resume`. */
  readonly passed: readonly { readonly id: string; readonly deadline: string }[];
}

/** The id of the run that goes on when the deadline of the question has passed: every replica derives the same. */
export const runOfDeadline = (questionId: string): string => idFrom(questionId, 'deadline');

/** Whether a deadline has begun the run. */
const isOfDeadline = ({ runId, resume = [] }: RunRecord): boolean => resume.some((id) => runOfDeadline(id) === runId);

/** Why an answer is refused that comes after the deadline, if `run` is what went on then. A bare answer is one to any question. */
export function lateAnswer(keys: readonly string[], run: RunRecord | undefined): ServiceError | undefined {
  if (!run || !isOfDeadline(run)) return undefined;
  const { passed } = fromJson(run.options) as PassedOptions;
  const isNamed = keys.some((key) => passed.some(({ id }) => id === key));
  const question = isNamed || keys.length === 0 ? passed.find(({ id }) => !isNamed || keys.includes(id)) : undefined;
  if (!question) return undefined;
  const { id, deadline } = question;
  return conflict(
    `resume: the deadline of question "${id}" passed at ${deadline}, and run "${run.runId}" went on without this answer`,
  );
}
