/** UTF-8 JSON bytes as text: a reply contains them without parsing them. */
export const jsonText = (json: Uint8Array): string =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');

/** UTF-8 JSON in consecutive parts: a large reply is sent in the parts in which it arrived. */
export interface JsonParts {
  readonly json: readonly Uint8Array[];
}

/** The bytes of all parts. */
export const sizeOf = ({ json }: JsonParts): number => json.reduce((sum, { byteLength }) => sum + byteLength, 0);

/** A value as JSON bytes, as the services take it. */
export const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** A JSON object whose members are JSON texts; a member that is `undefined` is left out. */
export function jsonObject(members: Readonly<Record<string, string | undefined>>): string {
  let text = '';
  for (const name in members) {
    const value = members[name];
    if (value !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${value}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

/** A string, or null for `undefined`, as JSON. */
export const textOrNull = (value: string | undefined): string => (value === undefined ? 'null' : JSON.stringify(value));

const millisecondsText = '000Z'.length;
let cachedSecond = Number.NaN;
let secondText = '';

/**
 * A time in milliseconds as an ISO 8601 JSON string. The text of the last second is cached, because most timestamps of a list
 * share their second.
 */
export function timeText(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== cachedSecond) {
    secondText = new Date(second * 1000).toISOString().slice(0, -millisecondsText);
    cachedSecond = second;
  }
  return `"${secondText}${String(ms - second * 1000).padStart(3, '0')}Z"`;
}

let lastMs = 0;
let lastText = '';

/** The current time as an ISO 8601 JSON string, made once a millisecond. */
export function nowText(): string {
  const ms = Date.now();
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = timeText(ms);
  }
  return lastText;
}
