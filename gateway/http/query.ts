import type { TSchema } from 'typebox';
import type { Method } from './endpoint.ts';
import { invalidAt } from './fields.ts';
import { guardJson } from './json-guard.ts';

/** Whether the query of a request with this method may hold input. */
export const takesQuery = (method: Method): boolean => method === 'GET' || method === 'DELETE';

/** A parsed query string: a parameter given twice is an array. */
type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reads the query parameters that the schema of an endpoint's input names, by their types: integers, numbers, JSON objects,
 * lists of words with commas between them.
 * A value of another form stays a string, which the validator then refuses by name.
 */
export function readQuery(input: TSchema, query: Query): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(propertiesOf(input))) {
    const text = query[name];
    if (text !== undefined) values[name] = readParameter(schema, name, text);
  }
  return values;
}

/** @throws Invalid naming the first parameter that is not among those known. */
export function refuseUnknown(query: Query, known: ReadonlySet<string>): void {
  const unknown = Object.keys(query).find((name) => !known.has(name));
  if (unknown !== undefined) throw invalidAt(['query', unknown], 'is no parameter of this endpoint', 'extra_forbidden');
}

/** The fields of an object schema. */
export const propertiesOf = (schema: TSchema): Readonly<Record<string, TSchema>> =>
  'properties' in schema ? (schema.properties as Readonly<Record<string, TSchema>>) : {};

function readParameter(schema: TSchema, name: string, text: string | readonly string[]): unknown {
  const type = 'type' in schema ? schema.type : undefined;
  if (type === 'array') return [text].flat().flatMap((each) => each.split(','));
  if (typeof text !== 'string') return text;
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (type === 'object') return readJson(name, text);
  return text;
}

function readJson(name: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  guardJson(value, { where: `the query parameter "${name}"`, loc: ['query', name] });
  return value;
}
