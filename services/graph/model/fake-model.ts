import { newId } from '@agent-workflow/kit/ids';
import type { AnswerPart, Model, ModelQuestion } from './model.ts';

/** One answer of a fake model: a text, calls of tools, both as parts, or an error that it fails with. */
export type ScriptedAnswer =
  string | Error | { readonly call: string; readonly args?: Readonly<Record<string, unknown>> } | readonly AnswerPart[];

export interface FakeModel extends Model {
  /** What it was asked, in order. */
  readonly questions: readonly ModelQuestion[];
}

/**
 * A model for tests: gives the answers in their order, each once. A function answers every question itself.
 * @throws Error, when it is asked, once no answer is left.
 */
export function fakeModel(
  script: readonly ScriptedAnswer[] | ((question: ModelQuestion) => ScriptedAnswer),
): FakeModel {
  const questions: ModelQuestion[] = [];
  return {
    questions,
    async *answer(question, signal) {
      signal.throwIfAborted();
      questions.push(question);
      const answer = typeof script === 'function' ? script(question) : script[questions.length - 1];
      if (answer === undefined) throw new Error(`the fake model has no answer number ${String(questions.length)}`);
      if (answer instanceof Error) throw answer;
      yield* toParts(answer);
    },
  };
}

function toParts(answer: Exclude<ScriptedAnswer, Error>): readonly AnswerPart[] {
  // Each word is a part, as with a real model.
  if (typeof answer === 'string') return answer.split(/(?<=\s)(?=\S)/).map((text) => ({ type: 'text', text }));
  if ('call' in answer) return [{ type: 'tool_call', id: newId(), name: answer.call, args: answer.args ?? {} }];
  return answer;
}
