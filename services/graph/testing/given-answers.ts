import { answeredCalls, callsOf, type Message } from '@agent-workflow/protos/message';
import type { Interrupt } from '../run/interrupt.ts';
import { toStrictJson } from '../state/json-value.ts';

/** The answers of a caller to what a walk before left open. */
export interface GivenAnswers {
  /** Answers to open questions, by their ids. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  /** The answer to the one question that is open. */
  readonly answer?: unknown;
}

/**
 * The answers by the ids of their questions.
 * @throws Error when one answers no open question, or it is not clear which.
 */
export function readGivenAnswers(given: GivenAnswers, open: readonly Interrupt[]): Readonly<Record<string, unknown>> {
  const answers = toStrictJson(given.answers ?? {}, 'answers') as Readonly<Record<string, unknown>>;
  const ids = open.map(({ id }) => id);
  const unknown = Object.keys(answers).find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new Error(`answers: no open question has the id "${unknown}"; ${listed(ids)}`);
  if (!('answer' in given)) return answers;
  const [only] = ids;
  if (given.answers !== undefined) throw new Error('answer and answers were both given: give one of them');
  if (only === undefined || ids.length > 1)
    throw new Error(`answer is for a walk with one open question; ${listed(ids)}: give answers by their ids`);
  return { [only]: toStrictJson(given.answer, 'answer') };
}

const listed = (ids: readonly string[]): string =>
  ids.length === 0 ? 'none is open' : `open are ${ids.map((id) => `"${id}"`).join(', ')}`;

/** @throws Error when a tool message answers a call that no message of the context makes. */
export function refuseUnknownResults(context: readonly Message[]): void {
  const calls = new Set(context.flatMap(callsOf));
  const unknown = context.flatMap(answeredCalls).find((id) => !calls.has(id));
  if (unknown !== undefined) throw new Error(`context: a tool message answers "${unknown}", and no call has this id`);
}
