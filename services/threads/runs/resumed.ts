import { ServiceError } from '@agent-workflow/kit/errors';

/** A run that the thread's snapshot lacks, as far as another reads it that goes on from it. */
export interface Resumed {
  readonly runId: string;
  /** Absent when the run is no longer on record. */
  readonly options: Uint8Array | undefined;
}

/** Thrown by a decision: which run the thread goes on from is known only now. It is made again with the options of that run. */
export class ResumedToRead extends ServiceError {
  readonly runId: string;
  constructor(runId: string) {
    super('Unavailable', 'the thread has just come to stand elsewhere');
    this.runId = runId;
  }
}
