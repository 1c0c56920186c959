import { within } from '@agent-workflow/protos/call';
import type { BranchRecords } from '@agent-workflow/graph/run/branch-records';
import { whileAway } from '../record/away.ts';
import type { DriveOptions } from './drive-options.ts';

/** Results of branches, stored with the thread behind the fence of the step's commit, among the records of tool calls. */
interface StoredBranchRecords extends BranchRecords {
  /** Why a result could not be read or stored. The store is the reason that the step failed then, not its node. */
  readonly failure: () => unknown;
}

const callTimeoutMs = 30_000;
/** How long a branch waits for an unavailable record, in milliseconds. After that the run is released, and the step runs again. */
const waitMs = 60_000;

/**
 * How long results are kept where nothing removes them with the run. They are of use only until their step is committed; a step that no
 * worker could commit for so long runs all its branches again.
 */
const keepSeconds = 3 * 24 * 3600;

export function createBranchRecords(
  { threads, replicas, owner, claimed, runContext: { signal }, onAway }: DriveOptions,
  step: number,
): StoredBranchRecords {
  const { threadId, runId, epoch } = claimed;
  const fence = { owner, threadId, runId, epoch, step };
  // Only the first step of a takeover may have been begun before.
  const mayHaveRun = claimed.isTakeover && step === claimed.step;
  let failure: unknown;
  const whileRecordAway = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await whileAway(work, { signal, onAway, forMs: waitMs });
    } catch (error) {
      failure ??= error;
      throw error;
    }
  };
  return {
    find: async (callKey) => {
      if (!mayHaveRun) return undefined;
      const { resultJson } = await whileRecordAway(() =>
        threads.noteToolStarted({ ...fence, callKey }, { ...within(callTimeoutMs), replicas }),
      );
      return resultJson && Buffer.from(resultJson).toString();
    },

    save: async (callKey, result) => {
      const resultJson = Buffer.from(result);
      await whileRecordAway(() =>
        threads.noteToolResult({ ...fence, callKey, resultJson, keepSeconds }, { ...within(callTimeoutMs), replicas }),
      );
    },

    failure: () => failure,
  };
}
