import type { JsonObject } from '@agent-workflow/client';

/** What a box holds, or what is wrong with it. */
export type Read<T> = { readonly value: T } | { readonly fault: string };

/** Reads a JSON text; the fault says what it is the text of. */
export function readJson(name: string, text: string): Read<unknown> {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `${name} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Reads a box of a JSON object. */
export function readObject(name: string, text: string): Read<JsonObject> {
  const read = readJson(name, text);
  if ('fault' in read) return read;
  const { value } = read;
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { value: value as JsonObject }
    : { fault: `${name} must be a JSON object: {"field": value}` };
}

/** The same, where an empty box is none. */
export const readObjectIfAny = (name: string, text: string): Read<JsonObject | undefined> =>
  text.trim() === '' ? { value: undefined } : readObject(name, text);

/** Reads a box of a number within bounds; an empty one is none. */
export function readNumber(
  name: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): Read<number | undefined> {
  if (text.trim() === '') return { value: undefined };
  const value = Number(text);
  return value >= least && value <= most
    ? { value }
    : { fault: `${name} must be a number from ${String(least)} to ${String(most)}` };
}
