import { jsonObject } from '../../../http/json.ts';

/** The fields that a graph gives out, by the names that clients know; `undefined`: all. */
export type Output = ReadonlySet<string> | undefined;

/** Of fields with their JSON those that a graph gives out. */
export const givenOut = (fields: Readonly<Record<string, string>>, output: Output): Readonly<Record<string, string>> =>
  output ? Object.fromEntries(Object.entries(fields).filter(([name]) => output.has(name))) : fields;

/** The same of the JSON of an object: `null` where nothing of it is given out. What is no object, or an empty one, stays as it is. */
export function givenOutOf(json: string, output: Output): string {
  if (!output || json === 'null' || json === '{}') return json;
  const entries = Object.entries(JSON.parse(json) as Readonly<Record<string, unknown>>);
  const given = entries.filter(([name]) => output.has(name)).map(([name, value]) => [name, JSON.stringify(value)]);
  return given.length === 0 ? 'null' : jsonObject(Object.fromEntries(given) as Readonly<Record<string, string>>);
}
