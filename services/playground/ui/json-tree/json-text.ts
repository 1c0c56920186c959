import { isOpening } from './json-members.ts';

/** What a JSON value is, by its first character. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'word';

/** Where a value stands in a JSON text: `end` is behind its last character. */
export interface JsonPlace {
  readonly start: number;
  readonly end: number;
}

export function kindAt(text: string, at: number): JsonKind {
  const first = text.charAt(at);
  if (first === '{') return 'object';
  if (first === '[') return 'array';
  if (first === '"') return 'string';
  return first === '-' || (first >= '0' && first <= '9') ? 'number' : 'word';
}

export const holdsMembers = (text: string, { start }: JsonPlace): boolean => isOpening(text.charCodeAt(start));

/** The whole text but the space around it. */
export function wholeOf(text: string): JsonPlace {
  const start = text.length - text.trimStart().length;
  return { start, end: Math.max(start, text.trimEnd().length) };
}

/** The text that a JSON string stands for. One that is cut or has a wrong escape stays as it is written, without its quotes. */
export function unquoted(written: string): string {
  try {
    return String(JSON.parse(written));
  } catch {
    return written.replace(/^"/, '').replace(/"$/, '');
  }
}

/** The beginning of what stands at a place, as it is written, with no half of a pair at its end. */
export function startAt(
  text: string,
  { start, end }: JsonPlace,
  limit: number,
): { readonly text: string; readonly isCut: boolean } {
  if (end - start <= limit) return { text: text.slice(start, end), isCut: false };
  const last = text.charCodeAt(start + limit - 1);
  const to = last >= 0xd800 && last <= 0xdbff ? start + limit - 1 : start + limit;
  return { text: text.slice(start, to), isCut: true };
}
