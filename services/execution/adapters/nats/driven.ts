import { LRUCache } from 'lru-cache';
import type { DrivenRuns, ShownRuns } from '../../ports/leases.ts';
import { hashOfAgent } from './client/pools.ts';

/** The most bytes of one message, revisions in it, and characters of a name. */
const maxBytes = 4096;
const maxRevisions = 16;
const maxName = 256;
/** Bound of what is remembered of all workers, in bytes; what was shown longest ago is forgotten first. */
const maxShownBytes = 8 * 1024 * 1024;
/** About what an entry takes beside its payload. */
const restBytes = 256;

/** What each worker has shown of each agent. */
interface ShownDriven {
  /** Takes what a worker publishes about an agent; anything else is ignored. */
  readonly receive: (of: { readonly hash: string; readonly workerId: string }, data: Uint8Array) => void;
  readonly of: (isAlive: (workerId: string) => boolean) => readonly ShownRuns[];
}

export function createShownDriven(): ShownDriven {
  const shown = new LRUCache<string, ShownRuns>({ maxSize: maxShownBytes });
  return {
    receive: ({ hash, workerId }, data) => {
      const driven = fromPayload(data);
      // A pool may publish below its own agents alone.
      if (driven && hashOfAgent(driven.agent) === hash)
        shown.set(`${hash} ${workerId}`, { ...driven, workerId }, { size: data.length + restBytes });
    },
    of: (isAlive) => [...shown.values()].filter(({ workerId }) => isAlive(workerId)),
  };
}

/** One agent as the payload of a message. */
export const toPayload = (driven: DrivenRuns): string => JSON.stringify(driven);

function fromPayload(data: Uint8Array): DrivenRuns | undefined {
  if (data.length > maxBytes) return undefined;
  try {
    const read: unknown = JSON.parse(Buffer.from(data).toString());
    return isDrivenRuns(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= maxName;

const isDrivenRuns = (read: unknown): read is DrivenRuns =>
  isRecord(read) &&
  isName(read['agent']) &&
  Array.isArray(read['revisions']) &&
  read['revisions'].length <= maxRevisions &&
  read['revisions'].every(
    (each: unknown) =>
      isRecord(each) &&
      (each['revision'] === undefined || isName(each['revision'])) &&
      Number.isSafeInteger(each['runs']) &&
      Number(each['runs']) >= 0,
  );
