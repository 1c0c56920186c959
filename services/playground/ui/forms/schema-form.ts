import { constraintsOf, type Constraints } from './constraints.ts';
import { faultOf } from './faults.ts';
import { isSchema, resolved, type Schema } from './references.ts';

/** A form made of a JSON Schema: what a reader types is kept as text until it is read as a whole. */
export interface FormModel {
  readonly fields: readonly FormField[];
  /** Whether the value is that of the only field, and not an object of fields. */
  readonly isBare: boolean;
}

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly description?: string;
  /** The values that may be chosen, as JSON. */
  readonly choices?: readonly string[];
  /** The default, as the field holds it. */
  readonly fallback?: string;
  readonly isRequired: boolean;
  readonly constraints: Constraints;
  /** The regular expression that a text must match. It is not checked by `readForm`, because it may take for ever. */
  readonly pattern?: string;
}

/** `choices` is a list of some of the values that may be chosen; `json` is the kind of all that has no form of its own. */
type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices' | 'json';

/** What stands in the fields, by their names. An empty text is no value. */
export type FormTexts = Readonly<Record<string, string>>;

/** What is wrong with the fields, by their names: each continues after the label of its field. */
export type FormFaults = Readonly<Record<string, string>>;

/** The value of a form, or what is wrong with it. */
type FormValue = { readonly value: unknown; readonly errors?: undefined } | { readonly errors: FormFaults };

/** The name of the field of a form that has one value. */
export const bareField = 'value';

/**
 * The form of a schema: a field for each property of an object, else one field. Anything that is no
 * schema is a field of JSON.
 */
export function formOf(schema: unknown): FormModel {
  if (!isSchema(schema)) return { fields: [fieldOf(bareField, {}, true, {})], isBare: true };
  const { properties, required } = resolved(schema, schema);
  if (!isSchema(properties) || Object.keys(properties).length === 0)
    return { fields: [fieldOf(bareField, schema, true, schema)], isBare: true };
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, field]) =>
    fieldOf(name, isSchema(field) ? field : {}, names.includes(name), schema),
  );
  return { fields, isBare: false };
}

/** The form of an object of fields, none of which is required: each schema is a document of its own. */
export const formOfFields = (schemas: Readonly<Record<string, Schema>>): FormModel => ({
  fields: Object.entries(schemas).map(([name, schema]) => fieldOf(name, schema, false, schema)),
  isBare: false,
});

function fieldOf(name: string, given: Schema, isRequired: boolean, root: Schema): FormField {
  const schema = resolved(given, root);
  const { title, description, pattern } = schema;
  const constraints = constraintsOf(schema, root);
  const single = constraints.values;
  const choices = single ?? (schema['type'] === 'array' ? constraints.items?.().values : undefined);
  const kind = kindOf(schema['type'], single, choices);
  return {
    ...{ name, kind, isRequired, constraints },
    label: typeof title === 'string' ? title : name,
    ...(typeof description === 'string' && { description }),
    ...(choices && { choices }),
    ...('default' in schema && { fallback: toText(schema['default'], kind) }),
    ...(typeof pattern === 'string' && { pattern }),
  };
}

function kindOf(type: unknown, single: readonly string[] | undefined, several: readonly string[] | undefined) {
  if (single) return 'choice';
  if (several) return 'choices';
  if (type === 'string') return 'text';
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json';
}

/** A value as the field of its kind holds it. */
function toText(value: unknown, kind: FieldKind): string {
  if (value === undefined) return '';
  return kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value);
}

/** The defaults of the fields, as texts that stand in the form before anything is typed. Those that cannot be chosen are left out. */
export function defaultTexts({ fields }: FormModel): FormTexts {
  const fitting = fields.flatMap(({ name, kind, fallback, choices }) =>
    fallback === undefined || (kind === 'choice' && !choices?.includes(fallback)) ? [] : [[name, fallback] as const],
  );
  return Object.fromEntries(fitting);
}

/** Reads the form: all values, or what is wrong with each that cannot be read. Fields without text are left out. */
export function readForm({ fields, isBare }: FormModel, texts: FormTexts): FormValue {
  const errors: Record<string, string> = {};
  const values: [string, unknown][] = [];
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text === '' && !field.isRequired) continue;
    const read = readField(field, text);
    if ('error' in read) errors[field.name] = read.error;
    else values.push([field.name, read.value]);
  }
  if (Object.keys(errors).length > 0) return { errors };
  return { value: isBare ? values[0]?.[1] : Object.fromEntries(values) };
}

type Read = { readonly value: unknown } | { readonly error: string };

function readField(field: FormField, text: string): Read {
  const { kind, constraints } = field;
  if (kind !== 'text' && kind !== 'choices' && text.trim() === '') return { error: 'is required' };
  const read = readText(kind, text);
  if ('error' in read || kind === 'choice') return read;
  const error = faultOf(constraints, read.value);
  return error === undefined ? read : { error };
}

function readText(kind: FieldKind, text: string): Read {
  if (kind === 'text') return { value: text };
  if (kind === 'choices') return { value: chosenOf(text).map((choice) => JSON.parse(choice) as unknown) };
  const read = readJson(text);
  // What is no number is not to be explained as JSON.
  return 'error' in read && (kind === 'number' || kind === 'integer') ? { value: text } : read;
}

/** The choices, each as JSON, that the text of a field of `choices` holds. */
export function chosenOf(text: string): readonly string[] {
  const read = text === '' ? { value: [] } : readJson(text);
  return 'value' in read && Array.isArray(read.value) ? read.value.map((value) => JSON.stringify(value)) : [];
}

/** Reads a text as JSON. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
