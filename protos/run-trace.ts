import type { FailureCode, FailureReason } from '@agent-workflow/kit/errors';

/** What a span of a trace stands for. A `step` within a node is one of its sub-graph. */
export const spanKinds = ['step', 'node', 'branch', 'attempt', 'model', 'tool', 'takeover'] as const;
export type SpanKind = (typeof spanKinds)[number];

/** How a span ended. One that `waits` does so for a person or for a tool of the caller. */
export const spanStatuses = ['running', 'completed', 'failed', 'waiting', 'sleeping', 'stopped'] as const;
export type SpanStatus = (typeof spanStatuses)[number];

/** The most spans of a step that are kept, and the most bytes of their JSON. */
export const mostSpans = 2000;
export const spansBytes = 256 * 1024;

/** The most characters of a name in a trace, of an id, and of the message of an error, in units of UTF-16. */
export const longestName = 256;
export const longestId = 512;
export const longestMessage = 1024;

/** The most ids, and the most names of fields, of what a node has given; and the most parts of the context that a model was sent. */
export const mostOutput = 32;
export const mostRanges = 64;

/** The most memories that a span says it has found. */
export const mostMemories = 32;

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
  /** The ids of the memories that its searches have found, in the order in which they were found; `SCOPE/ID` of one that is not the owner's own. */
  readonly memories?: readonly string[];
  /** Its content found no room. */
  readonly lost?: true;
}

/** Why it failed, as callers of the run may read it. */
export interface SpanError {
  readonly message: string;
  readonly code?: FailureCode;
  readonly reason?: FailureReason;
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
