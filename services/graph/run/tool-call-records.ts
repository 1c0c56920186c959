import type { InterruptScope } from './interrupt.ts';

/** The result of one tool call. */
export interface CallResult {
  readonly output: unknown;
  readonly isError: boolean;
}

/** The second record of a tool call: its result, or that it ended with a question and is made again with the answer. */
export type ToolCallRecord = CallResult | { readonly asked: true };

/**
 * The records of tool calls that may be made at most once. The caller of a step stores them, so that they outlive the
 * attempt. All attempts at one call have the same key.
 */
export interface ToolCallRecords {
  /** Records that the call begins; gives whether it is the first attempt, and the record of how an earlier one ended. */
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

/** The same records, for a call that may ask a question: a call with an open question has no result, whatever it returned or threw. */
export const withInterrupts = (records: ToolCallRecords, scope: InterruptScope): ToolCallRecords => ({
  started: records.started,
  ended: async (callKey, record) => records.ended(callKey, scope.open() ? { asked: true } : record),
});
