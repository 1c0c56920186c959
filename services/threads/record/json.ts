import type { MessageEntry } from '@agent-workflow/protos/threads';

const comma = Buffer.from(',');
const open = Buffer.from('[');
const close = Buffer.from(']');

/** JSON texts as one JSON array, without reading them. */
export function jsonArray(items: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [open];
  for (const [index, item] of items.entries()) {
    if (index > 0) parts.push(comma);
    parts.push(item);
  }
  parts.push(close);
  return Buffer.concat(parts);
}

/** A value as JSON bytes. */
export const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** The value of JSON bytes that this service wrote. */
export const fromJson = (json: Uint8Array): unknown =>
  JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString());

/** A question, as the end of an interrupted run shows it. */
interface Question {
  readonly id: string;
  readonly value?: unknown;
  readonly deadline?: unknown;
  readonly default?: unknown;
}

/** The questions that a run ended with. A worker of a pool can leave anything on record: what is none is left out. */
export function fromQuestions(interruptsJson: string | undefined): readonly Question[] {
  if (interruptsJson === undefined) return [];
  try {
    const all: unknown = JSON.parse(interruptsJson);
    return Array.isArray(all) ? all.filter(isQuestion) : [];
  } catch {
    return [];
  }
}

/** The questions without their deadlines, and the answers that count from these on. */
export const withoutShownDeadlines = (interruptsJson: string): string =>
  interruptsJson.includes('"deadline":')
    ? JSON.stringify(fromQuestions(interruptsJson).map(({ deadline: _at, default: _answer, ...rest }) => rest))
    : interruptsJson;

const isQuestion = (value: unknown): value is Question =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Question>).id === 'string';

/** A run's waiting input as stored: ids beside texts, so that the claim does not parse the texts. */
export const toInput = (messages: readonly MessageEntry[]): Uint8Array =>
  toJson(messages.map(({ messageId, json }) => [messageId, Buffer.from(json).toString()]));

export const fromInput = (input: Uint8Array): MessageEntry[] =>
  (fromJson(input) as [string, string][]).map(([messageId, json]) => ({ messageId, json: Buffer.from(json) }));
