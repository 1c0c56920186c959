import type { JsonObject } from '@agent-workflow/client';

/** What a box holds, or what is wrong with it. */
export type Read<T> = { readonly value: T } | { readonly fault: string };

/** Reads a box of a JSON object; an empty one is none. */
export function readObject(name: string, text: string): Read<JsonObject | undefined> {
  if (text.trim() === '') return { value: undefined };
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value: value as JsonObject };
    return { fault: `${name} must be a JSON object: {"field": value}` };
  } catch (error) {
    return { fault: `${name} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

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
