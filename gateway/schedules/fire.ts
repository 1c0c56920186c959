import { canBeRetried, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import type { ResourceCalls, RunReadCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { HandleDue } from '@agent-workflow/runtime/due-sweep';
import {
  beginFiring,
  disabled,
  dropped,
  fired,
  checked,
  overlapOf,
  refused,
  skipFirst,
  takeDue,
  waitFirst,
} from './advance.ts';
import {
  delayedUntil,
  dueAtOf,
  fromScheduleJson,
  isFiring,
  scheduleBounds,
  toScheduleJson,
  type PendingSlot,
  type Schedule,
} from './schedule.ts';

/** The run of a slot, as it is to be started. */
export interface ScheduledRun extends PendingSlot {
  readonly owner: string;
  readonly scheduleId: string;
  readonly run: Schedule['run'];
  readonly terms: Schedule['terms'];
  readonly user: Schedule['user'];
  /** The clock of the record, in milliseconds since 1970. */
  readonly now: number;
}

interface FireOptions {
  readonly threads: Pick<ResourceCalls, 'putResource' | 'deleteResource'> &
    Pick<RunReadCalls, 'getRun'> &
    Pick<ThreadReadCalls, 'getThread'>;
  readonly execution: Pick<Execution, 'stopRun' | 'deleteThread'>;
  /** Why the stored claims do not allow the run any more; `undefined`: they do. */
  readonly refusalOf: (run: ScheduledRun, call: Call) => Promise<string | undefined>;
  /** A run whose id is on record is not started again. */
  readonly start: (run: ScheduledRun, call: Call) => Promise<unknown>;
}

/** Slots that one handling fires at most; the others wait for the next sweep, so that other schedules have their turn. */
const atOnce = 10;

/**
 * Fires what is due of a schedule. Each slot takes two conditional writes: one that it is being fired, with the id of its run, and one that it
 * was. A gateway that finds it being fired offers the same run again, which the record accepts once.
 */
export function createFireDue({ threads, execution, refusalOf, start }: FireOptions): HandleDue {
  return async (resource, { call, now }) => {
    const { owner, id } = resource;
    let { version } = resource;
    let schedule = fromScheduleJson(resource.json);

    const write = async (next: Schedule): Promise<void> => {
      schedule = next;
      const dueAt = dueAtOf(id, next);
      const json = toScheduleJson(next);
      const due = dueAt === undefined ? {} : { dueAt };
      await threads.putResource({ kind: 'schedule', owner, id, version: version + 1, json, ...due }, call);
      version += 1;
    };

    const goesOn = async (runId: string): Promise<boolean> => {
      const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, call));
      return run !== undefined && isOpen(run.status);
    };

    const newestRunIn = async (threadId: string): Promise<string | undefined> =>
      (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call)))?.runId;

    const fire = async (slot: PendingSlot): Promise<Schedule> => {
      const { run, terms, user } = schedule;
      const isAccepted = (): Promise<boolean> =>
        undefinedIfNotFound(threads.getRun({ owner, runId: slot.runId }, call)).then((found) => found !== undefined);
      if (schedule.deleted) return (await isAccepted()) ? fired(schedule, now()) : dropped(schedule);
      const scheduled = { ...slot, owner, scheduleId: id, run, terms, user, now: now() };
      try {
        const message = await refusalOf(scheduled, call);
        if (message !== undefined) {
          if (await isAccepted()) return fired(schedule, now());
          return disabled(refused(schedule, { code: 'PermissionDenied', message }, now()), message, now());
        }
        await start(scheduled, call);
        return fired(schedule, now());
      } catch (error) {
        // An outage waits: the slot is offered again.
        if (!isServiceError(error) || canBeRetried(error) || !final.has(error.code)) throw error;
        return refused(schedule, error, now());
      }
    };

    /** The schedule before its first pending slot is fired, or without that one, or waiting with it. */
    const prepare = async (slot: PendingSlot): Promise<Schedule> => {
      if (schedule.unkept.length >= scheduleBounds.unkept)
        return skipFirst(schedule, `${String(scheduleBounds.unkept)} threads wait to be removed`, now());
      const overlap = overlapOf(schedule, slot);
      const { last } = schedule;
      if (overlap === 'fire' || !last || !(await goesOn(last.runId))) return beginFiring(schedule);
      if (overlap === 'skip') return skipFirst(schedule, `run "${last.runId}" went on`, now());
      if (overlap === 'wait') return waitFirst(schedule, now());
      await undefinedIfNotFound(execution.stopRun({ owner, runId: last.runId }, call));
      return beginFiring(schedule);
    };

    const removeThreads = async (): Promise<void> => {
      const ready = schedule.unkept.filter(({ checkAt }) => checkAt <= now()).slice(0, atOnce);
      for (const { threadId, runId } of ready) {
        const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, call));
        const isOpenStill = run !== undefined && isOpen(run.status);
        // Where somebody is asked something, the thread stays for the answer; and that of a run which was to start later, where a later one has it.
        const isOthers = schedule.delayed === true && (await newestRunIn(threadId)) !== runId;
        if (!isOpenStill && run?.status !== 'interrupted' && !isOthers)
          await undefinedIfNotFound(execution.deleteThread({ owner, threadId }, call));
        schedule = checked(schedule, threadId, isOpenStill, now());
      }
      if (ready.length > 0) await write(schedule);
    };

    for (let fires = 0; fires < atOnce;) {
      if (schedule.firing) {
        await write(await fire(schedule.firing));
        fires += 1;
        continue;
      }
      if (isEnded(schedule, now())) {
        await threads.deleteResource({ kind: 'schedule', owner, id, version }, call);
        return;
      }
      const taken = takeDue(id, schedule, now());
      const [first] = taken.pending;
      const isReady = first !== undefined && isFiring(taken) && (taken.waitUntil ?? 0) <= now();
      if (!isReady) {
        if (taken !== schedule) await write(taken);
        break;
      }
      schedule = taken;
      await write(await prepare(first));
    }
    await removeThreads();
    if (isEnded(schedule, now())) await threads.deleteResource({ kind: 'schedule', owner, id, version }, call);
    else if (version === resource.version) await write(schedule);
  };
}

/** Errors that another attempt meets again. */
const final: ReadonlySet<string> = new Set([
  'BadRequest',
  'Invalid',
  'TooLarge',
  'NotFound',
  'Conflict',
  'PermissionDenied',
]);

/** Nothing is left of a schedule that was deleted, or of a delayed run that was accepted. */
function isEnded({ deleted, delayed, firing, unkept, past: [outcome] }: Schedule, now: number): boolean {
  if (firing || unkept.length > 0) return false;
  return deleted === true || (delayed === true && outcome !== undefined && delayedUntil(outcome) <= now);
}
