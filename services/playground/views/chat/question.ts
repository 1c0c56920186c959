import type { Interrupt } from '@agent-workflow/client';
import { formOf, type FormModel } from '../../ui/forms/schema-form.ts';

/** A question of a node as a form. */
export interface Question {
  readonly id: string;
  readonly node: string;
  /** What is asked, in words; absent when the node asked with a value of another form. */
  readonly text?: string;
  /** The whole value that the node asked with, where the words are not all of it. */
  readonly value?: unknown;
  /** The form of the answer; absent when any text or JSON will do. */
  readonly form?: FormModel;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a question: words under a common name, a JSON Schema of the answer or a list of choices if there is one. */
export function questionOf({ id, node, value }: Interrupt): Question {
  if (!isObject(value)) return { id, node, text: typeof value === 'string' ? value : JSON.stringify(value) };
  const named = ['question', 'message', 'prompt', 'text', 'title'].find((name) => typeof value[name] === 'string');
  const schema = ['schema', 'response_schema', 'json_schema'].map((name) => value[name]).find(isObject);
  const choices = ['options', 'choices']
    .map((name) => value[name])
    .find((list) => Array.isArray(list) && list.length > 0);
  const form = schema ? formOf(schema) : choices !== undefined ? formOf({ title: 'Answer', enum: choices }) : undefined;
  return {
    ...{ id, node },
    ...(named !== undefined && { text: String(value[named]) }),
    ...(Object.keys(value).length > (named === undefined ? 0 : 1) && { value }),
    ...(form && { form }),
  };
}
