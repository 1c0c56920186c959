import { within } from '@agent-workflow/protos/call';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import type { CallNote, CallNotes } from '@agent-workflow/graph/run/once';
import { fromJson } from '../record/run-options.ts';

export interface CallNoteParts {
  readonly threads: Threads;
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly step: number;
}

/** Notes kept with the thread, behind the fence of the step's commit. */
export interface KeptCallNotes extends CallNotes {
  /** Why a call could not be noted, so that it was not made: the step is then the record's failure, and not its node's. */
  readonly failure: () => unknown;
}

const callTimeoutMs = 30_000;

export function keepCallNotes({ threads, owner, claimed, step }: CallNoteParts): KeptCallNotes {
  const { threadId, runId, epoch } = claimed;
  const place = { owner, threadId, runId, epoch, step };
  let failure: unknown;
  return {
    started: async (callKey) => {
      try {
        const { isNew, resultJson } = await threads.noteToolStarted({ ...place, callKey }, within(callTimeoutMs));
        return { isNew, ...(resultJson ? { note: fromJson(resultJson) as CallNote } : {}) };
      } catch (error) {
        failure ??= error;
        throw error;
      }
    },

    ended: async (callKey, note) => {
      const resultJson = Buffer.from(JSON.stringify(note));
      try {
        await threads.noteToolResult({ ...place, callKey, resultJson }, within(callTimeoutMs));
      } catch {
        // The commit of the step has the result, too: only a death before that would leave it unknown.
      }
    },

    failure: () => failure,
  };
}
