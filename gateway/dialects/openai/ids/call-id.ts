import { fromHex, hexOf } from './shown-id.ts';

/** A call that a run asks its caller for. */
interface AskedCall {
  readonly runId: string;
  /** The id of the call, or of the question. */
  readonly callId: string;
}

/** The id of a call as callers get it: it names the run that waits for the result. */
export const shownCallId = ({ runId, callId }: AskedCall): string => `${hexOf(runId)}_${callId}`;

/** What a shown id names; `undefined` for an id that another service has made. */
export function readCallId(text: string): AskedCall | undefined {
  const runId = text[32] === '_' ? fromHex(text.slice(0, 32)) : undefined;
  const callId = text.slice(33);
  return runId === undefined || callId === '' ? undefined : { runId, callId };
}
