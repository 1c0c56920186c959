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

export function createBranchRecords(
  { threads, owner, claimed, runContext: { signal }, onAway }: DriveOptions,
  step: number,
): StoredBranchRecords {
  const { threadId, runId, epoch } = claimed;
  const fence = { owner, threadId, runId, epoch, step };
  // Only the first step of a takeover may have been begun before.
  const mayHaveRun = claimed.isTakeover && step === claimed.step;
  let failure: unknown;
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
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
      const { resultJson } = await ask(() => threads.noteToolStarted({ ...fence, callKey }, within(callTimeoutMs)));
      return resultJson && Buffer.from(resultJson).toString();
    },

    save: async (callKey, result) => {
      const resultJson = Buffer.from(result);
      await ask(() => threads.noteToolResult({ ...fence, callKey, resultJson }, within(callTimeoutMs)));
    },

    failure: () => failure,
  };
}
