import type { RunEvent, RunEvents, RunScope } from '@agent-workflow/protos/execution';

/** What a reader may have asked for beside the events of a run. It has no number. */
export const extraKinds = ['tasks', 'values'] as const;
export type ExtraKind = (typeof extraKinds)[number];

/** An event of a run, and what stands before it for a reader who asked for that. */
export interface StreamEvent extends RunEvent {
  readonly extras?: readonly RunEvent[];
  /** What its reader gets in its place, where a dialect has written it. */
  readonly written?: readonly Uint8Array[];
}

export interface StreamEvents extends Omit<RunEvents, 'events'> {
  readonly events: readonly StreamEvent[];
}

/** The JSON of one event, as callers read it: its bytes as consecutive views. */
export interface EventJson {
  readonly parts: readonly Uint8Array[];
  readonly size: number;
}

/** Makes the JSON of the events of one run. */
export type ToEventJson = (event: StreamEvent) => EventJson;

/** The format of a stream: each event is `head`, its JSON, `tail`. All but the JSON is ASCII. */
export interface Framing {
  /** Streams of one name have the same bytes: no other framing has it. */
  readonly name: string;
  /** The `Content-Type` of the reply. */
  readonly type: string;
  /** What has the number 0 has no id: a reader resumes after the event before it. */
  readonly head: (runId: string, event: Pick<RunEvent, 'seq' | 'kind'>) => string;
  readonly toEventJson: (scope: RunScope) => ToEventJson;
  readonly tail: string;
  /** Written when nothing was written for `STREAM_COMMENT_SECONDS`; empty for a framing without comments. */
  readonly comment: string;
  /** The longest time between two comments, in seconds, whatever the settings say. Absent: as they say. */
  readonly mostCommentSeconds?: number;
}
