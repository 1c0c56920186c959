import type { RunEvent } from '@agent-workflow/protos/execution';

/** How the events of a run are written to a reader: each is `head`, its chunk, `tail`. All of it but the chunk is ASCII. */
export interface Framing {
  readonly name: string;
  /** The `Content-Type` of the reply. */
  readonly type: string;
  readonly head: (runId: string, event: Pick<RunEvent, 'seq' | 'kind'>) => string;
  readonly tail: string;
  /** Written when there was nothing to write for a while; empty for a framing without comments. */
  readonly comment: string;
}
