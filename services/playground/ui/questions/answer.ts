import {
  bareField,
  defaultTexts,
  readForm,
  readJson,
  type FormFaults,
  type FormTexts,
  type FormModel,
} from '../forms/schema-form.ts';
import type { Question } from './question.ts';
import { evaluate } from '../evaluation.ts';

/** What stands in the form of one question. */
export interface Answer {
  readonly texts: FormTexts;
  /** How an answer without a form is read. */
  readonly as: 'text' | 'json';
  readonly isLeftOpen: boolean;
}

/** The form of a question before anything is typed: the defaults of its schema. */
export const firstAnswer = ({ form }: Question): Answer => ({
  texts: form ? defaultTexts(form) : {},
  as: 'text',
  isLeftOpen: false,
});

/** What was typed into a form, to be read and sent as a message; empty when nothing was typed. */
export function typedText(answer: Answer | undefined): readonly string[] {
  const lines = Object.entries(answer?.texts ?? {})
    .filter(([, text]) => text.trim() !== '')
    .map(([name, text]) => (name === bareField ? text : `${name}: ${text}`));
  return lines.length === 0 ? [] : [lines.join('\n')];
}

type Read = { readonly value: unknown } | { readonly errors: FormFaults };

function readAnswer({ form }: Question, { texts, as }: Answer): Read {
  const text = texts[bareField] ?? '';
  // An empty text is no answer: the reader has overlooked the box.
  const isText = form ? form.isBare && form.fields[0]?.kind === 'text' : as === 'text';
  if (isText && text.trim() === '') return { errors: { [bareField]: 'is empty' } };
  if (form) {
    const read = readForm(form, texts);
    return read.errors ? { errors: read.errors } : { value: read.value };
  }
  if (isText) return { value: text };
  const read = readJson(text);
  return 'error' in read ? { errors: { [bareField]: read.error } } : read;
}

/** Reads the answer to a question, or what is wrong with it, by the names of the fields. */
export async function checkAnswer(question: Question, answer: Answer): Promise<Read> {
  const read = readAnswer(question, answer);
  if ('errors' in read || !question.form) return read;
  const errors = await patternFaults(question.form, answer.texts);
  return Object.keys(errors).length > 0 ? { errors } : read;
}

/** A question with what stands in its form. */
export type GivenAnswer = readonly [Question, Answer];

/** Answers as a request has them, by the ids of their questions. */
export type Resume = Readonly<Record<string, unknown>>;

/** What is wrong with answers, by the ids of their questions. */
export type AnswerFaults = Readonly<Record<string, FormFaults>>;

/** Reads several answers, or what is wrong with those that are. */
export async function checkAnswers(
  given: readonly GivenAnswer[],
): Promise<{ readonly resume: Resume } | { readonly errors: AnswerFaults }> {
  const checked = await Promise.all(given.map(async ([each, its]) => [each.id, await checkAnswer(each, its)] as const));
  const wrong = checked.flatMap(([id, each]) => ('errors' in each ? [[id, each.errors] as const] : []));
  if (wrong.length > 0) return { errors: Object.fromEntries(wrong) };
  return { resume: Object.fromEntries(checked.flatMap(([id, each]) => ('value' in each ? [[id, each.value]] : []))) };
}

/** What is still wrong with an answer that was changed: the faults of the fields that were not changed, and of those that are still wrong. */
export function faultsLeft(question: Question, faults: FormFaults, before: Answer, after: Answer): FormFaults {
  const read = readAnswer(question, after);
  const now = 'errors' in read ? read.errors : {};
  const left = Object.entries(faults).flatMap(([name, fault]) => {
    const isSame = before.as === after.as && before.texts[name] === after.texts[name];
    const text = isSame ? fault : now[name];
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(left);
}

/** How long a text is compared with a pattern, in milliseconds. */
const patternMs = 2000;

/**
 * The fields whose texts do not match their patterns. A pattern may take exponential time, so that it is tried in a worker; a text that
 * cannot be judged in time, or whose pattern is no regular expression, is left to the agent.
 */
async function patternFaults({ fields }: FormModel, texts: FormTexts): Promise<FormFaults> {
  const faults = await Promise.all(
    fields.map(async ({ name, kind, isRequired, pattern }) => {
      const text = texts[name] ?? '';
      if (pattern === undefined || kind !== 'text' || (text === '' && !isRequired)) return [];
      return (await matches(text, pattern)) ? [] : [[name, `must match the pattern ${pattern}`] as const];
    }),
  );
  return Object.fromEntries(faults.flat());
}

async function matches(text: string, pattern: string): Promise<boolean> {
  const given = [pattern, text].map((each) => JSON.stringify(each)).join();
  const found = await evaluate(`(${tried})(${given})`, { timeoutMs: patternMs }).catch(() => true);
  return found !== false;
}

/** JSON Schema reads patterns as Unicode; authors also write what only the older reading takes. */
const tried = `(pattern, text) => {
  let compiled;
  try {
    compiled = new RegExp(pattern, 'u');
  } catch {
    compiled = new RegExp(pattern);
  }
  return compiled.test(text);
}`;
