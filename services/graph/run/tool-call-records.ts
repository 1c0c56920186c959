import type { Usage } from '@agent-workflow/protos/usage';
import { hasLeft, type InterruptScope } from './interrupt.ts';
import type { UsageReports } from './usage-reports.ts';

/** The result of one tool call. */
export interface CallResult {
  readonly output: unknown;
  readonly isError: boolean;
  /** The tokens that the call reported; absent: none. */
  readonly usage?: Usage;
}

/** The second record of a tool call: its result, or that it ended with a question or a sleep and is made again after that. */
export type ToolCallRecord = CallResult | { readonly asked: true };

/**
 * The records of tool calls that may be made at most once. The caller of a step stores them, so that they outlive the
 * attempt. All attempts at one call have the same key.
 */
export interface ToolCallRecords {
  /**
   * Records that the call begins; gives whether it is the first attempt, and the record of how an earlier one ended. The record of a call
   * that was made through this same object is without usage, which was reported then.
   */
  readonly started: (callKey: string) => Promise<{ readonly isNew: boolean; readonly record?: ToolCallRecord }>;
  readonly ended: (callKey: string, record: ToolCallRecord) => Promise<void>;
}

/**
 * Makes a call at most once. When an earlier attempt recorded a result, that is the result. When one began the call and
 * recorded no end, the call is not made, and the result is an error that says so.
 */
export async function callByRecord(
  records: ToolCallRecords,
  callKey: string,
  make: () => Promise<CallResult>,
): Promise<CallResult> {
  const { isNew, record } = await records.started(callKey);
  if (record && 'output' in record) return record;
  if (!isNew && !record) return unknownOutcome;
  const result = await make();
  await records.ended(callKey, result);
  return result;
}

const unknownOutcome: CallResult = {
  output: 'Outcome unknown: the call was begun and may have taken effect; it is not made again.',
  isError: true,
};

/** The same records; `onReplayed` is called when the result of a call is on record, so that it is not made. */
export const withReplays = (records: ToolCallRecords, onReplayed: () => void): ToolCallRecords => ({
  started: async (callKey) => {
    const found = await records.started(callKey);
    if (found.record && 'output' in found.record) onReplayed();
    return found;
  },
  ended: async (callKey, record) => records.ended(callKey, record),
});

/** The same records, for a call that may ask or sleep: while it is suspended it has no result, whatever it returned or threw. */
export const withInterrupts = (records: ToolCallRecords, scope: InterruptScope): ToolCallRecords => ({
  started: records.started,
  ended: async (callKey, record) => records.ended(callKey, hasLeft(scope) ? { asked: true } : record),
});

/** The same records, with the usage of the call: a call that is not made again reports what it reported when it was made. */
export const withUsage = (
  records: ToolCallRecords,
  { report, reported }: Pick<UsageReports, 'report' | 'reported'>,
): ToolCallRecords => ({
  started: async (callKey) => {
    const found = await records.started(callKey);
    if (found.record && 'output' in found.record) for (const usage of found.record.usage ?? []) report(usage);
    return found;
  },
  ended: async (callKey, record) => {
    const usage = reported();
    return records.ended(callKey, 'output' in record && usage.length > 0 ? { ...record, usage } : record);
  },
});
