import { createHash } from 'node:crypto';
import type { AgentRouting, ThreadKey } from './threads.ts';

/** Shares are counted in parts of so many: hundredths of a percent. */
const parts = 10_000;

const percentParts = 100;

/**
 * The revision that serves the next new run of a thread. A thread is in the share of the ramping revision or it is not, by a hash: it stays
 * in it when the share grows.
 * @returns `undefined` while nothing is routed to: any worker serves the run.
 */
export function revisionFor(
  routing: Pick<AgentRouting, 'current' | 'ramping'> | undefined,
  thread: ThreadKey,
  agent: string,
): string | undefined {
  const { current, ramping } = routing ?? {};
  if (ramping && partOf(thread, agent) < ramping.percent * percentParts) return ramping.revision;
  return current;
}

const partOf = ({ owner, threadId }: ThreadKey, agent: string): number =>
  createHash('sha256')
    .update(JSON.stringify([owner, threadId, agent]))
    .digest()
    .readUInt32BE() % parts;

/** What operators read where new runs go to a revision that no worker holds. */
export const unservedWarning = (revision: string): string =>
  `no worker of revision "${revision}" is there: its runs wait until one comes`;
