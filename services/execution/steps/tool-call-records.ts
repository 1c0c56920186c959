import { within, type Replicas } from '@agent-workflow/protos/call';
import type { ClaimedRun, ToolRecordCalls } from '@agent-workflow/protos/threads';
import type { ToolCallRecord, ToolCallRecords } from '@agent-workflow/graph/run/tool-call-records';
import { fromJson } from '../record/json.ts';

interface ToolCallRecordOptions {
  readonly threads: ToolRecordCalls;
  readonly replicas: Replicas;
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly step: number;
}

/** Records of at-most-once tool calls, stored with the thread behind the fence of the step's commit. */
interface StoredToolCallRecords extends ToolCallRecords {
  /** Why a call could not be recorded, and so was not made. The store is the reason that the step failed then, not its node. */
  readonly failure: () => unknown;
}

const callTimeoutMs = 30_000;

export function createToolCallRecords({
  threads,
  replicas,
  owner,
  claimed,
  step,
}: ToolCallRecordOptions): StoredToolCallRecords {
  const { threadId, runId, epoch } = claimed;
  const fence = { owner, threadId, runId, epoch, step };
  let failure: unknown;
  const made = new Set<string>();
  return {
    started: async (callKey) => {
      try {
        const { isNew, resultJson } = await threads.noteToolStarted(
          { ...fence, callKey },
          { ...within(callTimeoutMs), replicas },
        );
        if (!resultJson) return { isNew };
        const record = fromJson(resultJson) as ToolCallRecord;
        return { isNew, record: made.has(callKey) ? withoutUsage(record) : record };
      } catch (error) {
        failure ??= error;
        throw error;
      }
    },

    ended: async (callKey, record) => {
      made.add(callKey);
      const resultJson = Buffer.from(JSON.stringify(record));
      try {
        await threads.noteToolResult({ ...fence, callKey, resultJson }, { ...within(callTimeoutMs), replicas });
      } catch {
        // The step's commit stores the result, too. Only a death before that commit leaves the outcome unknown.
      }
    },

    failure: () => failure,
  };
}

function withoutUsage(record: ToolCallRecord): ToolCallRecord {
  if (!('output' in record)) return record;
  const { usage: _, ...rest } = record;
  return rest;
}
