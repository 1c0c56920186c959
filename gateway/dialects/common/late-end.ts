import { setTimeout as delay } from 'node:timers/promises';
import type { RunEvent } from '@agent-workflow/protos/execution';

/** How long the events of a run are read at least before its end is sent, in milliseconds. */
const leastMs = 200;
/** A run that ended so long before is history, in milliseconds. */
const historyMs = 5000;

/** Whether a run has ended with the event, and not long before its events are read. */
export const isFreshEnd = ({ kind, at }: Pick<RunEvent, 'kind' | 'at'>, openedAt: number): boolean =>
  (kind === 'on_chain_end' || kind === 'error') && at >= openedAt - historyMs;

/**
 * Holds back the end of a run that has ended as soon as it is read: clients leave all that they read of the thread at that event, also what they have
 * asked for in the same moment and have got nothing of. LangGraph Server's own end comes a tenth of a second after what is before it.
 * @returns how long to wait before an event, in milliseconds
 */
export function createLateEnd(openedAt = Date.now()): (event: Pick<RunEvent, 'kind' | 'at'>, now?: number) => number {
  return (event, now = Date.now()) => (isFreshEnd(event, openedAt) ? Math.max(0, openedAt + leastMs - now) : 0);
}

/** Waits, unless the signal fires. */
export const waitMs = async (ms: number, signal: AbortSignal): Promise<void> => {
  if (ms > 0) await delay(ms, undefined, { signal }).catch(() => undefined);
};
