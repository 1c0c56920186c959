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
  /** As the reader would type it; shown where nothing is typed. */
  readonly fallback?: string;
  readonly isRequired: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** `json` is the kind of all that has no form of its own. */
type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';

/** What stands in the fields, by their names. An empty text is no value. */
export type FormTexts = Readonly<Record<string, string>>;

/** The value of a form, or what is wrong with it, by the names of its fields. */
type FormValue =
  { readonly value: unknown; readonly errors?: undefined } | { readonly errors: Readonly<Record<string, string>> };

type Schema = Readonly<Record<string, unknown>>;

/** The name of the field of a form that has one value. */
export const bareField = 'value';

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The form of a schema: a field for each property of an object, else one field. Anything that is no schema is a field of JSON. */
export function formOf(schema: unknown): FormModel {
  if (!isObject(schema)) return { fields: [fieldOf(bareField, {}, true)], isBare: true };
  const { properties, required } = schema;
  if (!isObject(properties) || Object.keys(properties).length === 0)
    return { fields: [fieldOf(bareField, schema, true)], isBare: true };
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, field]) =>
    fieldOf(name, isObject(field) ? field : {}, names.includes(name)),
  );
  return { fields, isBare: false };
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): FormField {
  const { title, description, minimum, maximum } = schema;
  const choices = choicesOf(schema);
  return {
    name,
    label: typeof title === 'string' ? title : name,
    kind: choices ? 'choice' : kindOf(schema['type']),
    isRequired,
    ...(typeof description === 'string' && { description }),
    ...(choices && { choices }),
    ...('default' in schema && { fallback: toText(schema['default'], kindOf(schema['type'])) }),
    ...(typeof minimum === 'number' && { minimum }),
    ...(typeof maximum === 'number' && { maximum }),
  };
}

function choicesOf({ enum: all, const: only }: Schema): readonly string[] | undefined {
  if (Array.isArray(all) && all.length > 0) return all.map((value) => JSON.stringify(value));
  return only === undefined ? undefined : [JSON.stringify(only)];
}

function kindOf(type: unknown): FieldKind {
  if (type === 'string') return 'text';
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json';
}

/** A value as the field of its kind holds it. */
function toText(value: unknown, kind: FieldKind): string {
  if (value === undefined) return '';
  return kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value);
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
  if (field.kind === 'text') return { value: text };
  if (text.trim() === '') return { error: 'is required' };
  const read = readJson(text);
  if ('error' in read || field.kind === 'json' || field.kind === 'choice') return read;
  return fits(field, read.value) ?? read;
}

/** Reads a text as JSON. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function fits({ kind, minimum, maximum }: FormField, value: unknown): { readonly error: string } | undefined {
  if (kind === 'boolean') return typeof value === 'boolean' ? undefined : { error: 'must be true or false' };
  if (typeof value !== 'number') return { error: 'must be a number' };
  if (kind === 'integer' && !Number.isInteger(value)) return { error: 'must be a whole number' };
  if (minimum !== undefined && value < minimum) return { error: `must be at least ${String(minimum)}` };
  if (maximum !== undefined && value > maximum) return { error: `must be at most ${String(maximum)}` };
  return undefined;
}
