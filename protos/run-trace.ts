/** What a span of a trace stands for. A `step` within a node is one of its sub-graph. */
export const spanKinds = ['step', 'node', 'branch', 'attempt', 'model', 'tool', 'takeover'] as const;
export type SpanKind = (typeof spanKinds)[number];

/** How a span ended. One that `waits` does so for a person or for a tool of the caller. */
export const spanStatuses = ['running', 'completed', 'failed', 'waiting', 'sleeping', 'stopped'] as const;
export type SpanStatus = (typeof spanStatuses)[number];

/** The most spans of a step that are kept, and the most bytes of their JSON. */
export const mostSpans = 2000;
export const spansBytes = 256 * 1024;

/** The most bytes of content: of one span, of one step, and of one run. */
export const spanContentBytes = 64 * 1024;
export const stepContentBytes = 1024 * 1024;
export const runContentBytes = 4 * 1024 * 1024;

/** What `spans_json` of a step holds. */
export interface StoredTrace {
  /** How the step ended; absent: completed. */
  readonly status?: SpanStatus;
  /** The step began anew after another worker had the run. */
  readonly takeover?: true;
  /** In the order in which they began, so that each stands behind its parent. */
  readonly spans: readonly StoredSpan[];
  /** How many more there were. */
  readonly omitted?: number;
}

/** A span as it is stored: what is usual is left out, because a step may have thousands. */
export interface StoredSpan {
  readonly kind: SpanKind;
  /** The place of its parent among the spans, from 1; absent: the step. */
  readonly in?: number;
  /** Absent: that of its parent. */
  readonly name?: string;
  /** When it began, in milliseconds after its step, whose times the record may move. */
  readonly at: number;
  /** How long it took, in milliseconds; absent: it had not ended with its step. */
  readonly ms?: number;
  /** Absent: completed. */
  readonly status?: SpanStatus;
  /** Its result came from the record. */
  readonly replayed?: true;
  /** Of an attempt and of a branch: its number. Of a step within a node, too. */
  readonly number?: number;
  /** Tokens read and written. */
  readonly tokens?: readonly [number, number];
  readonly finish?: string;
  readonly error?: SpanError;
  /** The id of the tool call. */
  readonly call?: string;
  /** The id of the message that the answer of a model became. */
  readonly message?: string;
  readonly sent?: SentMessages;
  readonly output?: SpanOutput;
  /** Its content found no room. */
  readonly lost?: true;
}

/** Why it failed, as callers of the run may read it. */
export interface SpanError {
  readonly message: string;
  readonly code?: string;
  readonly reason?: string;
}

/** The messages that a model was sent. */
export interface SentMessages {
  readonly count: number;
  /** Those of the thread, by the first and the last of each part of its context, and how many these are. */
  readonly ranges: readonly (readonly [from: string, to: string, count: number])[];
}

/** What a node or a branch has given: ids of messages, not more than 32 of them; how many messages; and names of fields. */
export interface SpanOutput {
  readonly ids?: readonly string[];
  readonly messages?: number;
  readonly fields?: readonly string[];
}

/** What `content_json` of a step holds: by the places of its spans, from 1. 0 is the step itself. */
export type StoredContent = Readonly<Record<string, SpanContent>>;

/** What only operators may see of a span. */
export interface SpanContent {
  /** What the model was sent beside the messages. */
  readonly instructions?: string;
  /** The names of the tools that it was offered. */
  readonly tools?: readonly string[];
  /** Messages that are in no thread. */
  readonly sent?: readonly unknown[];
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
  readonly logs?: readonly LogLine[];
  /** The bytes that members had before they were cut. */
  readonly cut?: Readonly<Record<string, number>>;
}

/** A line that the code has logged. */
export interface LogLine {
  /** In milliseconds after the step began. */
  readonly at: number;
  readonly level: string;
  readonly text: string;
}

/** Reads `spans_json`; what cannot be read is a trace of no span. A worker of another team may have written it. */
export function readTrace(json: Uint8Array): StoredTrace {
  const trace = objectIn(json);
  const { status, takeover, spans, omitted } = trace;
  return {
    ...(isOneOf(spanStatuses, status) && { status }),
    ...(takeover === true && { takeover }),
    spans: Array.isArray(spans) ? spans.slice(0, mostSpans).flatMap(toSpan) : [],
    ...(isCount(omitted) && omitted > 0 && { omitted }),
  };
}

/** Reads `content_json`; what cannot be read is no content. */
export function readContent(json: Uint8Array): StoredContent {
  const entries = Object.entries(objectIn(json)).filter(([, content]) => isObject(content));
  return Object.fromEntries(entries) as StoredContent;
}

/** One that is none is shown as a span that nothing is known of, so that the places of the others stay. */
function toSpan(span: unknown, index: number): StoredSpan {
  const { kind, in: parent, at } = isObject(span) ? span : {};
  if (!isOneOf(spanKinds, kind) || !isCount(at)) return { kind: 'node', at: 0 };
  const { in: _, ...rest } = checked(span as Readonly<Record<string, unknown>>);
  return { ...rest, kind, at, ...(isCount(parent) && parent > 0 && parent <= index && { in: parent }) };
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isTrue = (value: unknown): boolean => value === true;

const members: Readonly<Record<keyof Omit<StoredSpan, 'kind' | 'at'>, (value: unknown) => boolean>> = {
  in: isCount,
  name: isText,
  ms: isCount,
  status: (value) => isOneOf(spanStatuses, value),
  replayed: isTrue,
  number: isCount,
  tokens: (value) => Array.isArray(value) && value.length === 2 && value.every(isCount),
  finish: isText,
  error: (value) => isObject(value) && isText(value['message']),
  call: isText,
  message: isText,
  sent: (value) => isObject(value) && isCount(value['count']) && isRanges(value['ranges']),
  output: (value) =>
    isObject(value) && isTexts(value['ids'] ?? []) && isTexts(value['fields'] ?? []) && isCount(value['messages'] ?? 0),
  lost: isTrue,
};

const isRanges = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((range: unknown) => Array.isArray(range) && isTexts(range.slice(0, 2)) && isCount(range[2]));

const checked = (span: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(span).filter(([name, value]) =>
      Object.hasOwn(members, name) ? members[name as keyof typeof members](value) : false,
    ),
  );

function objectIn(json: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(json).toString());
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const isOneOf = <const T extends readonly string[]>(list: T, value: unknown): value is T[number] =>
  (list as readonly unknown[]).includes(value);
