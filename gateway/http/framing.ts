import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';

/** The JSON of one event, as callers read it: its bytes as consecutive views. */
export interface EventJson {
  readonly parts: readonly Uint8Array[];
  readonly size: number;
}

/** Makes the JSON of the events of one run. */
export type ToEventJson = (event: RunEvent) => EventJson;

/** The format of a stream: each event is `head`, its JSON, `tail`. All but the JSON is ASCII. */
export interface Framing {
  /** Streams of one name have the same bytes: no other framing has it. */
  readonly name: string;
  /** The `Content-Type` of the reply. */
  readonly type: string;
  readonly head: (runId: string, event: Pick<RunEvent, 'seq' | 'kind'>) => string;
  readonly toEventJson: (scope: RunScope) => ToEventJson;
  readonly tail: string;
  /** Written when nothing was written for `STREAM_COMMENT_SECONDS`; empty for a framing without comments. */
  readonly comment: string;
}
