import type { JsonObject } from '@agent-workflow/client';

/** A field of the graph's state, as `GET /v1/graph:StateSchema` describes it. */
export interface StateField {
  readonly name: string;
  /** `any` takes every value. */
  readonly type: string;
  readonly description?: string;
}

/** The fields that a reply of the schema names. */
export function stateFieldsOf(schema: JsonObject): readonly StateField[] {
  const fields = (schema['fields'] ?? {}) as Readonly<Record<string, Omit<StateField, 'name'>>>;
  return Object.entries(fields).map(([name, field]) => ({ ...field, name }));
}

/** What the box of a field begins with. */
export const boxTextOf = ({ type }: StateField, value: unknown): string => {
  if (value === undefined) return '';
  return type === 'string' && typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
};

/** What a box says: the value, or what is wrong with its text. Whether the field takes the value is for the service to say. */
export type BoxValue = { readonly value: unknown } | { readonly fault: string };

/** Reads the box of a field: a text as it is, anything else as JSON. */
export function readBox({ name, type }: StateField, text: string): BoxValue {
  if (type === 'string') return { value: text };
  return readJson(name, text);
}

/** Reads a JSON text; the fault names what it is the text of. */
export function readJson(name: string, text: string): BoxValue {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `${name} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Reads the box that writes several fields at once. */
export function readFields(text: string): BoxValue {
  const read = readJson('The text', text);
  if ('fault' in read) return read;
  const { value } = read;
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? read
    : { fault: 'The text must be a JSON object: {"field": value}' };
}
