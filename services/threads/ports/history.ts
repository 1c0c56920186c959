import type { UndoRow } from './changes.ts';
import type { PageLimits } from './lists.ts';
import type { CheckpointInfo, ThreadKey } from './record.ts';

/** A checkpoint as lists show it, without its undo record. */
export interface CheckpointRow extends CheckpointInfo {
  readonly version: number;
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
}
