import type { Interrupt } from '@agent-workflow/client';
import { formOf, type FormModel } from '../forms/schema-form.ts';

/** A question of a node as a form. */
export interface Question {
  readonly id: string;
  readonly node: string;
  /** What is asked, in words; absent when the node asked with a value of another form. */
  readonly text?: string;
  /** What else the node asked with, beside the words and the form. */
  readonly value?: unknown;
  /** The form of the answer; absent when any text or JSON will do. */
  readonly form?: FormModel;
  /** When the run goes on without an answer, as ISO 8601. */
  readonly deadline?: string;
  /** What the run goes on with then; absent where the node learns that nobody answered. */
  readonly fallback?: unknown;
  /** The roles that answer it; absent where it is answered here. */
  readonly to?: readonly string[];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a question: words under a common name, a JSON Schema of the answer or a list of choices if there is one. */
export function questionOf({ id, node, value, deadline, to, ...more }: Interrupt): Question {
  const ends = {
    ...(deadline !== undefined && { deadline }),
    ...(more.default !== undefined && { fallback: more.default }),
    ...(to !== undefined && { to }),
  };
  if (!isObject(value)) return { id, node, text: typeof value === 'string' ? value : JSON.stringify(value), ...ends };
  const named = ['question', 'message', 'prompt', 'text', 'title'].find((name) => typeof value[name] === 'string');
  const schemaName = ['schema', 'response_schema', 'json_schema'].find((name) => isObject(value[name]));
  const choicesName = ['options', 'choices'].find((name) => Array.isArray(value[name]) && value[name].length > 0);
  const schema = schemaName === undefined ? {} : (value[schemaName] as object);
  const formName = schemaName ?? choicesName;
  const rest = Object.entries(value).filter(([name]) => name !== named && name !== formName);
  return {
    ...{ id, node, ...ends },
    ...(named !== undefined && { text: String(value[named]) }),
    ...(rest.length > 0 && { value: Object.fromEntries(rest) }),
    ...(formName !== undefined && {
      // A form of one field without a title of its own: the question stands above it.
      form: formOf({ title: 'Answer', ...(formName === schemaName ? schema : { enum: value[formName] }) }),
    }),
  };
}
