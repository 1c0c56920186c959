import type { BranchRecords } from '../run/branch-records.ts';
import type { ToolCallRecord, ToolCallRecords } from '../run/tool-call-records.ts';

/** The records of one step, which outlive a crash, in memory. */
export interface KeptRecords {
  readonly branchRecords: BranchRecords;
  readonly toolCallRecords: ToolCallRecords;
  /** The keys of the branches and tool calls that are not run again after a crash. */
  readonly kept: () => ReadonlySet<string>;
  /** As if the process had died before the first branch was on record. */
  readonly forgetBranches: () => void;
}

export function createKeptRecords(): KeptRecords {
  const branches = new Map<string, string>();
  const calls = new Map<string, ToolCallRecord | undefined>();
  return {
    branchRecords: {
      find: async (key) => branches.get(key),
      save: async (key, result) => void branches.set(key, result),
    },
    toolCallRecords: {
      started: async (key) => {
        const isNew = !calls.has(key);
        if (isNew) calls.set(key, undefined);
        const record = calls.get(key);
        return { isNew, ...(record && { record }) };
      },
      ended: async (key, record) => void calls.set(key, record),
    },
    kept: () => new Set([...branches.keys(), ...calls.keys()]),
    forgetBranches: () => branches.clear(),
  };
}
