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

const question = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\/\d{1,10}\//;

/** Whether a call is a question of the agent: its id begins with a run and a step. */
export const isQuestionId = (callId: string): boolean => question.test(callId);
