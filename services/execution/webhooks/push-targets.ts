import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Call } from '@agent-workflow/protos/call';
import { readPushes } from '@agent-workflow/protos/task-pushes';
import { taskStatus, type TaskIds } from '@agent-workflow/protos/task-status';
import type { ResourceCalls, Run, RunReadCalls } from '@agent-workflow/protos/threads';
import type { DeliveryTarget } from '@agent-workflow/protos/webhooks';
import { LRUCache } from 'lru-cache';
import { pushAddress, type Address } from './addresses.ts';

interface Pushed {
  readonly targets: readonly (Omit<DeliveryTarget, 'id'> & { readonly address: Address })[];
  /** The JSON text that is sent: `StreamResponse` of A2A. */
  readonly body: string;
}

/**
 * Where the state is sent that the end of a run gives its task; `undefined` where nobody has asked for it. Whether the owner has any was looked up
 * since `after`, by `performance.now()`.
 */
export type ReadPushes = (run: Run, after: number, call: Call) => Promise<Pushed | undefined>;

/** Runs before the one that has ended which are read at most, to find the first of its task. */
const mostTurns = 1000;

/** For how long it is known whether an owner has addresses of tasks, in milliseconds, and of how many owners. */
const freshMs = 100;
const owners = 1000;

interface Known {
  readonly began: number;
  readonly hasAny: Promise<boolean>;
}

/** Many runs of one owner that end in the same moment share the look whether any has an address. */
export function createReadPushes(
  threads: Pick<RunReadCalls, 'getRun'> & Pick<ResourceCalls, 'getResource' | 'countResources'>,
): ReadPushes {
  const known = new LRUCache<string, Known>({ max: owners });

  const hasAny = async (owner: string, after: number, call: Call): Promise<boolean> => {
    const began = performance.now();
    const read = known.get(owner);
    if (read && read.began >= after && began - read.began < freshMs) return read.hasAny;
    const counted = threads.countResources({ kind: 'push', owner, atMost: 1 }, call).then(({ count }) => count > 0);
    known.set(owner, { began, hasAny: counted });
    // A failure is that of all who wait for it, and of nobody after.
    counted.catch(() => {
      if (known.peek(owner)?.hasAny === counted) known.delete(owner);
    });
    return counted;
  };

  /** The first run of the task: each answers the one before it. */
  const taskOf = async (run: Run, call: Call): Promise<string> => {
    let first = run;
    for (let turns = 0; first.resumes !== undefined && turns < mostTurns; turns++) {
      const before = await undefinedIfNotFound(threads.getRun({ owner: run.owner, runId: first.resumes }, call));
      if (before?.resumedBy !== first.runId) break;
      first = before;
    }
    return first.runId;
  };

  return async (run, after, call) => {
    const { owner, threadId: contextId } = run;
    if (!(await hasAny(owner, after, call))) return undefined;
    const taskId = await taskOf(run, call);
    const found = await undefinedIfNotFound(threads.getResource({ kind: 'push', owner, id: taskId }, call));
    const { configs } = found ? readPushes(found.json) : { configs: [] };
    if (configs.length === 0) return undefined;
    return {
      targets: configs.map((config) => ({ push: { taskId, configId: config.id }, address: pushAddress(config) })),
      body: bodyOf(run, { taskId, contextId }),
    };
  };
}

/** What is too large leaves out the message of the status. */
function bodyOf(run: Run, ids: TaskIds): string {
  const status = taskStatus(run, ids);
  const whole = JSON.stringify({ statusUpdate: { ...ids, status } });
  if (Buffer.byteLength(whole) <= sizes.webhookBody) return whole;
  const { message: _, ...short } = status;
  return JSON.stringify({ statusUpdate: { ...ids, status: short } });
}
