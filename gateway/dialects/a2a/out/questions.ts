import type { ShownPart } from '../messages/to-parts.ts';

/** A question as a run has it. */
export interface Question {
  readonly id: string;
  readonly node: string;
  readonly value: unknown;
  /** ISO 8601: until then it may be answered. */
  readonly deadline?: string;
}

/** The questions in a JSON text. */
export const questionsIn = (json: string | undefined): readonly Question[] =>
  json === undefined ? [] : (JSON.parse(json) as readonly Question[]);

/** The names under which authors put the text of a question. */
const textNames = ['message', 'question', 'prompt'];

/** What questions say: each as a text where it has one, and whole, with the id that an answer may name. */
export const questionParts = (questions: readonly Question[]): readonly ShownPart[] =>
  questions.length === 0 ? [{ text: 'waits for the results of tools' }] : questions.flatMap(partsOf);

function partsOf({ id, node, value, deadline }: Question): readonly ShownPart[] {
  const text = textIn(value);
  const whole = { question_id: id, node, value, ...(deadline !== undefined && { deadline }) };
  return [...(text === undefined ? [] : [{ text }]), { data: whole }];
}

function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value)
    .flatMap(([name, text]) => (textNames.includes(name) && typeof text === 'string' ? [text] : []))
    .at(0);
}
