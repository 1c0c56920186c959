import type { JsonObject } from '@agent-workflow/client';
import { readJson, type Read } from '../../ui/boxes.ts';

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

/** Reads the box of a field: a text as it is, anything else as JSON. Whether the field takes the value is for the service to say. */
export const readField = ({ name, type }: StateField, text: string): Read<unknown> =>
  type === 'string' ? { value: text } : readJson(name, text);
