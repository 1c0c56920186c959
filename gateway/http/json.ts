/** UTF-8 JSON bytes as text, so that they are spliced into a reply without being parsed. */
export const jsonText = (json: Uint8Array): string =>
  Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');

/** UTF-8 JSON in parts that follow each other: a large reply that is sent as it came. */
export interface JsonParts {
  readonly json: readonly Uint8Array[];
}

export const sizeOf = ({ json }: JsonParts): number => json.reduce((sum, { byteLength }) => sum + byteLength, 0);

const encoder = new TextEncoder();

/** A value as the JSON bytes that the services take. */
export const jsonBytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** The text of an object of ready JSON texts; a member that is `undefined` is left out. */
export function jsonObject(members: Readonly<Record<string, string | undefined>>): string {
  let text = '';
  for (const name in members) {
    const value = members[name];
    if (value !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${value}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

/** A text, or null when there is none, as JSON. */
export const textOrNull = (value: string | undefined): string => (value === undefined ? 'null' : JSON.stringify(value));

const millisecondsText = '000Z'.length;
let knownSecond = Number.NaN;
let secondText = '';

/** A time in milliseconds as an ISO 8601 JSON text. The times of a list are near each other: most share their second. */
export function timeText(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== knownSecond) {
    secondText = new Date(second * 1000).toISOString().slice(0, -millisecondsText);
    knownSecond = second;
  }
  return `"${secondText}${String(ms - second * 1000).padStart(3, '0')}Z"`;
}

let lastMs = 0;
let lastText = '';

/** This moment as an ISO 8601 JSON text, which the replies of one millisecond share. */
export function nowText(): string {
  const ms = Date.now();
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = timeText(ms);
  }
  return lastText;
}
