import type { Asker } from './interrupt.ts';

/** What a tool's call came to. */
export interface CallResult {
  readonly output: unknown;
  readonly isError: boolean;
}

/** What is noted of a call: its result, or that it ended with a question and is made again with the answer. */
export type CallNote = CallResult | { readonly asked: true };

/**
 * Notes of calls that may be made only once, kept by whoever drives the step: what is noted outlives the attempt. A key is
 * the same for every attempt at the call.
 */
export interface CallNotes {
  /** Notes that the call is about to be made; says whether it is the first time, and what an earlier one noted. */
  readonly started: (callKey: string) => Promise<{ readonly isNew: boolean; readonly note?: CallNote }>;
  readonly ended: (callKey: string, note: CallNote) => Promise<void>;
}

/**
 * Makes a call that may be made only once. What an earlier attempt came to is taken from it; where one began the call and
 * nobody knows how it ended, nothing is done, and the answer says so.
 */
export async function callOnce(
  notes: CallNotes,
  callKey: string,
  make: () => Promise<CallResult>,
): Promise<CallResult> {
  const { isNew, note } = await notes.started(callKey);
  if (note && 'output' in note) return note;
  if (!isNew && !note) return unknownOutcome;
  const result = await make();
  await notes.ended(callKey, result);
  return result;
}

const unknownOutcome: CallResult = {
  output: 'Outcome unknown: the call was begun and may have taken effect; it is not made again.',
  isError: true,
};

/** The same notes, for a tool that may ask: one that asked has no result yet, whatever it threw or gave. */
export const unlessAsked = (notes: CallNotes, asker: Asker): CallNotes => ({
  started: notes.started,
  ended: async (callKey, note) => notes.ended(callKey, asker.asked() ? { asked: true } : note),
});
