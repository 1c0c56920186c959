import type { Json } from './json.ts';
import type { Step, RunStatus } from './runs.ts';

/** What went on in a run. */
export interface RunTrace<Text = string> {
  readonly run_id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly created_at: string;
  /** `null` before its end. */
  readonly ended_at: string | null;
  /** Whether the service shows `content` of spans, where it was recorded. */
  readonly shows_content: boolean;
  /** Each behind its parent. */
  readonly spans: readonly TraceSpan<Text>[];
  readonly has_more: boolean;
  /** The `after` with which to continue, also later while the run goes on; `null` before its first step was committed. */
  readonly next_after: number | null;
}

export type SpanKind = 'step' | 'node' | 'branch' | 'attempt' | 'model' | 'tool' | 'takeover';
export type SpanStatus = 'running' | 'completed' | 'failed' | 'waiting' | 'sleeping' | 'stopped';

/** A part of a run: what it was, when, and how it ended. */
export interface TraceSpan<Text = string> {
  /** `s3` for step 3; `s3.1`, `s3.2` within it, in the order in which they began. */
  readonly id: string;
  /** `null` for a step of the run and a takeover. */
  readonly parent_id: string | null;
  readonly kind: SpanKind;
  /** The node, the tool, or the model; of a step its nodes. Empty where it is not known. */
  readonly name: string;
  /** The number of the step of the run, from 0. */
  readonly step: number;
  /** Of a step within a node: its number in the sub-graph, from 1. */
  readonly inner_step?: number;
  /** Of an attempt: its number, from 1. Of a step of the run and of a takeover: that of the attempt at the step. */
  readonly attempt?: number;
  /** Of a branch: its index in the fan-out. */
  readonly branch?: number;
  readonly started_at: string;
  /** `null` while it is under way. */
  readonly ended_at: string | null;
  readonly status: SpanStatus;
  /** Its result came from the record: its code did not run. */
  readonly replayed?: boolean;
  /** With those of all within it. */
  readonly usage?: NonNullable<Step['usage']>;
  readonly finish_reason?: string;
  readonly error?: { readonly message: Text; readonly code?: string; readonly reason?: string };
  /** Of a step of the run: the checkpoint that it made, and the nodes after it. */
  readonly checkpoint_id?: string;
  readonly next?: readonly string[];
  /** Of a tool. */
  readonly call_id?: string;
  /** Of a model: the message that its answer became. */
  readonly message_id?: string;
  /** Of a model: the messages that it was sent, those of the context by the ids at both ends of each part. */
  readonly sent?: {
    readonly count: number;
    readonly ranges: readonly { readonly from: string; readonly to: string; readonly count: number }[];
    readonly other: number;
  };
  /** What a node or a branch has given; at most 32 ids. */
  readonly output?: {
    readonly message_ids: readonly string[];
    readonly messages: number;
    readonly fields: readonly string[];
  };
  /** The memories that its searches have found, at most 32; `SCOPE/ID` of one that is not the owner's own. */
  readonly memory_ids?: readonly string[];
  /** Of a step of the run: how many more spans it had, which are not kept. */
  readonly omitted?: number;
  readonly content?: SpanContent;
  /** There was content, and no room for it. */
  readonly content_lost?: boolean;
}

/** What only operators see of a span. */
export interface SpanContent {
  readonly instructions?: string;
  /** Names of tools. */
  readonly tools?: readonly string[];
  /** Messages that are in no thread. */
  readonly sent?: readonly Json[];
  readonly input?: Json;
  readonly output?: Json;
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
  readonly logs?: readonly { readonly at: string; readonly level: string; readonly text: string }[];
  /** The bytes that cut members had. */
  readonly cut?: Readonly<Record<string, number>>;
}
