import type { Call } from '@agent-workflow/protos/call';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { FollowRequest, RunEvent, RunEvents, WaitRequest } from '@agent-workflow/protos/execution';
import { LRUCache } from 'lru-cache';
import { publishAsleep, publishEnd, type EndParts } from '../events/publish-end.ts';
import { isOfRebuiltEnd } from '../ports/log-numbers.ts';
import type { RunLog } from '../ports/log.ts';
import type { Worker } from '../worker/worker.ts';
import type { EndWatch } from './end-watch.ts';

/** The owners of runs that were started at this replica. Most of them are followed here, without asking the record. */
export interface StartedRuns {
  readonly add: (owner: string, runId: string) => void;
  readonly has: (owner: string, runId: string) => boolean;
  readonly clear: () => void;
}

const rememberedRuns = 10_000;

export function createStartedRuns(): StartedRuns {
  const owners = new LRUCache<string, string>({ max: rememberedRuns });
  return {
    add: (owner, runId) => {
      owners.set(runId, owner);
    },
    has: (owner, runId) => owners.get(runId) === owner,
    clear: () => owners.clear(),
  };
}

interface FollowOptions extends EndParts {
  readonly worker: Pick<Worker, 'drives'> | undefined;
  readonly endWatch: Pick<EndWatch, 'watch'>;
  readonly started: Pick<StartedRuns, 'has'>;
}

/** Waits for the end of a run, or follows its events. */
interface Follow {
  readonly wait: (request: WaitRequest, call: Call) => Promise<RunEvent>;
  readonly follow: (request: FollowRequest, call: Call) => AsyncGenerator<RunEvents>;
}

export function createFollow(options: FollowOptions): Follow {
  const { threads, eventLog, worker, endWatch, started } = options;

  /**
   * Makes sure that the run's log comes to an end. A run that has ended on record without a last event in its log is published
   * from the record. @throws NotFound for absent and foreign runs alike.
   */
  const prepareLog = async (owner: string, runId: string, call: Call): Promise<void> => {
    if (started.has(owner, runId) && (worker?.drives(runId) === true || (await eventLog.isEnded(runId)))) return;
    const run = await threads.getRun({ owner, runId }, call);
    await publishAsleep(options, run);
    if (!run.end || worker?.drives(runId) === true) return;
    // The worker that ended it is probably about to publish the end. The time on record may come from a clock that is ahead.
    const waitMs = Math.min(publishMs, run.updatedAt + publishMs - Date.now());
    if (waitMs > 0) await ended(eventLog, runId, AbortSignal.any([call.signal, AbortSignal.timeout(waitMs)]));
    await publishEnd(options, run);
  };

  /**
   * The offset to read a log from, for a follower that has events up to number `after`. A log that was rebuilt twice after its
   * run's end may hold fewer events the second time. A follower of the first one gets all events of the second. Any other number
   * beyond the end of a log is followed by what comes after it.
   */
  const offsetFor = async (runId: string, after: number): Promise<number> => {
    if (!isOfRebuiltEnd(after) || !(await eventLog.isEnded(runId))) return after;
    const last = await eventLog.last(runId);
    return isOfRebuiltEnd(last) && last < after ? 0 : after;
  };

  return {
    wait: async ({ runId, owner, justStarted }, call) => {
      if (justStarted !== true) await prepareLog(owner, runId, call);
      const leave = endWatch.watch(owner, runId);
      try {
        return await eventLog.end(runId, call.signal);
      } finally {
        leave();
      }
    },

    async *follow({ owner, runId, after, justStarted }, call) {
      if (justStarted !== true) await prepareLog(owner, runId, call);
      const leave = endWatch.watch(owner, runId);
      try {
        let isFirst = true;
        for await (const { scope, events } of eventLog.follow(runId, await offsetFor(runId, after), call.signal)) {
          for (const part of inReplies(events)) {
            yield isFirst ? { events: part, scope } : { events: part };
            isFirst = false;
          }
        }
      } finally {
        leave();
      }
    },
  };
}

/** How long after a run's end on record its worker is left to publish it, in milliseconds. */
const publishMs = 500;

/** Resolves when the run's log has ended, or when the signal fires. */
const ended = async (eventLog: RunLog, runId: string, signal: AbortSignal): Promise<void> =>
  eventLog.end(runId, signal).then(
    () => undefined,
    () => undefined,
  );

/** Bytes of events in one reply of a stream. Several replies wait in buffers for a reader that does not read. */
const replyBytes = 256 * 1024;

/** Divides a batch into replies of bounded size; a larger event is a reply of its own. */
function* inReplies(batch: readonly RunEvent[]): Generator<readonly RunEvent[]> {
  if (batch.length === 1) {
    yield batch;
    return;
  }
  let start = 0;
  let bytes = 0;
  for (const [index, event] of batch.entries()) {
    const size = bytesOfEvent(event);
    if (index > start && bytes + size > replyBytes) {
      yield batch.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += size;
  }
  yield start === 0 ? batch : batch.slice(start);
}
