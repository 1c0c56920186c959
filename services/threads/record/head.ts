import type { AcceptRunRequest } from '@agent-workflow/protos/threads';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { Head } from '../ports/record.ts';
import { emptySize } from './size.ts';

/** How much room a version leaves for changes within one millisecond. */
const versionsPerMs = 1000;

/** The head of a thread that holds nothing yet. */
export const newHead = (
  { threadName, metadataJson, ttlSeconds }: Pick<AcceptRunRequest, 'threadName' | 'metadataJson' | 'ttlSeconds'>,
  now: number,
): Head => ({
  ...(threadName === undefined ? {} : { name: threadName }),
  ...(metadataJson === undefined ? {} : { metadata: metadataJson }),
  ...(ttlSeconds === undefined ? {} : { ttl: ttlSeconds }),
  createdAt: now,
  updatedAt: now,
  version: now * versionsPerMs,
  epoch: 0,
  step: 0,
  queue: [],
  nextPosition: 0,
  openCalls: [],
  next: [],
  openInterrupts: [],
  claims: 0,
  size: emptySize,
  deleting: false,
});

/**
 * Head or run without these members: itself where it has none of them. A copy without members takes
 * four times the memory of a whole one, and a change makes many.
 */
export function without<T extends object, K extends keyof T>(given: T, ...names: readonly K[]): Omit<T, K> {
  let left: Omit<T, K> = given;
  for (const name of names)
    if (name in left) {
      const { [name]: _, ...others } = left as T;
      left = others;
    }
  return left;
}

/** The agent that a thread belongs to; `undefined` before its first run. */
export const agentOf = ({ agent, newestRun }: Pick<Head, 'agent' | 'newestRun'>): string | undefined =>
  agent ?? (newestRun === undefined ? undefined : defaultAgent);

/** The id of the checkpoint of a version. */
export const toCheckpointId = (version: number): string => String(version);
