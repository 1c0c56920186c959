import type { UndoRow } from './changes.ts';
import type { PageLimits } from './lists.ts';
import type { CheckpointInfo, ThreadKey } from './record.ts';
import type { StepTrace } from '@agent-workflow/protos/threads';

/** A checkpoint as lists show it, without its undo record. */
export interface CheckpointRow extends CheckpointInfo {
  readonly version: number;
}

/** What went on within the step that made a version. */
export interface TraceRow extends StepTrace {
  readonly version: number;
}

export interface TraceRange {
  /** The first version and the last. */
  readonly from: number;
  readonly to: number;
  readonly withContent: boolean;
  /** As of {@link PageLimits}. */
  readonly bytes: number;
}

/** The port that reads the earlier versions of one thread. */
export interface ThreadHistory {
  /** The checkpoints that are kept, the newest first, from the first below version `below`. */
  readonly listCheckpoints: (
    key: ThreadKey,
    page: PageLimits & { readonly offset?: number; readonly below?: number | undefined },
  ) => Promise<readonly CheckpointRow[]>;
  /** The undo records of the kept versions above `above`, the newest first, from the first below `below`. */
  readonly listUndos: (
    key: ThreadKey,
    page: PageLimits & { readonly above: number; readonly below?: number | undefined },
  ) => Promise<readonly UndoRow[]>;
  /** The traces of the kept versions of a range that have one, the oldest first. */
  readonly listTraces: (key: ThreadKey, range: TraceRange) => Promise<readonly TraceRow[]>;
}
