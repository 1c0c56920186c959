import type { RunEvent } from '@agent-workflow/protos/execution';

/** The format of a stream: each event is `head`, its JSON, `tail`. All but the JSON is ASCII. */
export interface Framing {
  readonly name: string;
  /** The `Content-Type` of the reply. */
  readonly type: string;
  readonly head: (runId: string, event: Pick<RunEvent, 'seq' | 'kind'>) => string;
  readonly tail: string;
  /** Written when nothing was written for `STREAM_COMMENT_SECONDS`; empty for a framing without comments. */
  readonly comment: string;
}
