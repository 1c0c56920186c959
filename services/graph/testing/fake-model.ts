import { newId } from '@agent-workflow/kit/ids';
import type { AnswerPart, Model, ModelQuestion } from '../model/model.ts';
import { nameOf } from '../state/name-of.ts';
import { onCrash } from './crash-scope.ts';
import { toWords } from './to-words.ts';

/** One answer of a fake model: a text, calls of tools, both as parts, or an error that it fails with. */
export type ScriptedAnswer =
  string | Error | { readonly call: string; readonly args?: Readonly<Record<string, unknown>> } | readonly AnswerPart[];

export interface FakeModel extends Model {
  /** What it was asked, in order. */
  readonly questions: readonly ModelQuestion[];
}

/**
 * A model for tests: gives the answers in their order, each once. A function answers every question itself. An answer that a crash of
 * `walkWithCrashes` threw away is given again.
 * @throws Error for a script that is none, and, when it is asked, once no answer is left and for what is no answer.
 */
export function fakeModel(
  script: readonly ScriptedAnswer[] | ((question: ModelQuestion) => ScriptedAnswer),
): FakeModel {
  requireScript(script);
  const questions: ModelQuestion[] = [];
  const next = typeof script === 'function' ? script : inOrder(script);
  return {
    questions,
    async *answer(question, signal) {
      signal.throwIfAborted();
      questions.push(question);
      const answer = next(question);
      if (!isAnswer(answer)) throw new Error(`the function of fakeModel must give ${answers}, not ${nameOf(answer)}`);
      if (answer instanceof Error) throw answer;
      yield* toParts(answer);
    },
  };
}

const answers = 'a text, an Error, { call, args } or a list of parts';

/** What JavaScript lets pass: one answer without a list, none at all, and a list of what is no answer. */
function requireScript(script: unknown): void {
  if (typeof script === 'function') return;
  if (!Array.isArray(script))
    throw new Error(`what fakeModel is given must be a list of answers or a function, not ${nameOf(script)}`);
  const at = script.findIndex((answer) => !isAnswer(answer));
  if (at >= 0) throw new Error(`an answer of fakeModel must be ${answers}: [${String(at)}] is ${nameOf(script[at])}`);
}

const isAnswer = (answer: unknown): boolean => {
  if (typeof answer === 'string' || answer instanceof Error || hasText(answer, 'call')) return true;
  return Array.isArray(answer) && answer.every((part) => hasText(part, 'type'));
};

const hasText = (value: unknown, name: string): boolean =>
  typeof value === 'object' && value !== null && typeof (value as Readonly<Record<string, unknown>>)[name] === 'string';

/** Gives the first answer that is not given yet. */
function inOrder(script: readonly ScriptedAnswer[]): () => ScriptedAnswer {
  const given = new Set<number>();
  return () => {
    const at = script.findIndex((_, index) => !given.has(index));
    const answer = script[at];
    if (answer === undefined) throw new Error(`the fake model has no answer number ${String(given.size + 1)}`);
    given.add(at);
    onCrash(() => given.delete(at));
    return answer;
  };
}

function toParts(answer: Exclude<ScriptedAnswer, Error>): readonly AnswerPart[] {
  if (typeof answer === 'string') return toWords(answer);
  if ('call' in answer) return [{ type: 'tool_call', id: newId(), name: answer.call, args: answer.args ?? {} }];
  return answer;
}
