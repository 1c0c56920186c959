import type { DrivenRuns, ShownRuns } from '../../ports/leases.ts';
import { hashOfAgent } from './client/pools.ts';

/** The most bytes of one message, revisions in it, and characters of a name. */
const maxBytes = 4096;
const maxRevisions = 16;
const maxName = 256;
/** Bound of what is remembered of all workers, in bytes. */
const shownBytes = 8 * 1024 * 1024;
/** About what an entry takes beside its payload and the id of its worker. */
const restBytes = 256;

/** What each worker has shown of each agent. */
interface ShownDriven {
  /** Takes what a worker publishes about an agent; anything else is ignored. */
  readonly receive: (of: { readonly hash: string; readonly workerId: string }, data: Uint8Array) => void;
  readonly of: (isAlive: (workerId: string) => boolean) => readonly ShownRuns[];
}

/** What is remembered of one agent, by worker: what was shown longest ago comes first. */
interface ShownOfAgent {
  readonly byWorker: Map<string, { readonly runs: ShownRuns; readonly bytes: number }>;
  bytes: number;
}

/**
 * Beyond `mostBytes` in all, the agent with most bytes loses what was shown of it longest ago: a pool that makes up workers makes this
 * process forget what it has shown itself, and nothing of agents with fewer.
 */
export function createShownDriven(mostBytes: number = shownBytes): ShownDriven {
  const agents = new Map<string, ShownOfAgent>();
  let bytesOfAll = 0;

  const drop = (hash: string, agent: ShownOfAgent, workerId: string): void => {
    const known = agent.byWorker.get(workerId);
    if (!known) return;
    agent.byWorker.delete(workerId);
    agent.bytes -= known.bytes;
    bytesOfAll -= known.bytes;
    if (agent.byWorker.size === 0) agents.delete(hash);
  };
  const dropFromLargest = (): void => {
    const [first, ...others] = agents;
    if (!first) return;
    const [hash, largest] = others.reduce((most, next) => (next[1].bytes > most[1].bytes ? next : most), first);
    const [oldest = ''] = largest.byWorker.keys();
    drop(hash, largest, oldest);
  };
  const put = (hash: string, runs: ShownRuns, bytes: number): void => {
    const before = agents.get(hash);
    if (before) drop(hash, before, runs.workerId);
    const agent = agents.get(hash) ?? { byWorker: new Map(), bytes: 0 };
    agents.set(hash, agent);
    agent.byWorker.set(runs.workerId, { runs, bytes });
    agent.bytes += bytes;
    bytesOfAll += bytes;
    while (bytesOfAll > mostBytes) dropFromLargest();
  };

  return {
    receive: ({ hash, workerId }, data) => {
      const driven = fromPayload(data);
      // A pool may publish below its own agents alone.
      if (!driven || hashOfAgent(driven.agent) !== hash) return;
      put(hash, { ...driven, workerId }, data.length + workerId.length + restBytes);
    },
    of: (isAlive) =>
      [...agents.values()].flatMap(({ byWorker }) =>
        [...byWorker.values()].flatMap(({ runs }) => (isAlive(runs.workerId) ? [runs] : [])),
      ),
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
