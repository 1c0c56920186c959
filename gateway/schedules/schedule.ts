import type { ErrorCode } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import type { RunTerms } from './run-terms.ts';
import { dueTime, slotAfter, type Bounds, type Timing } from './slots.ts';

/** What happens to a slot that is due while the run of the slot before it goes on. */
export const overlapPolicies = ['skip', 'queue', 'cancel_other', 'allow'] as const;
type OverlapPolicy = (typeof overlapPolicies)[number];

/** Which slots are made up for that were missed while nothing could fire them. */
export const catchUpPolicies = ['none', 'one', 'all'] as const;
type CatchUpPolicy = (typeof catchUpPolicies)[number];

/** Whether the runs have one thread together, or each its own. */
export const scheduleThreads = ['one', 'new'] as const;
type ScheduleThread = (typeof scheduleThreads)[number];

/** Why a slot is fired: its time has come, a caller asked for a run, or for the slots of a time. */
export const firingCauses = ['slot', 'manual', 'backfill'] as const;
export type FiringCause = (typeof firingCauses)[number];

/** What became of a slot. */
export const slotOutcomes = ['started', 'skipped', 'missed', 'refused'] as const;
type SlotOutcome = (typeof slotOutcomes)[number];

/** What a caller says of a schedule. Times are in milliseconds since 1970. */
export interface ScheduleSpec extends Bounds {
  readonly name?: string;
  readonly timing: Timing;
  readonly jitterMs: number;
  readonly overlap: OverlapPolicy;
  readonly catchUp: CatchUpPolicy;
  /** How late a slot may be that is made up for. */
  readonly catchUpMs: number;
  readonly thread: ScheduleThread;
  /** Whether the threads stay that are made for one run. */
  readonly keepThreads: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A slot that is to be fired. */
export interface PendingSlot {
  readonly slot: number;
  readonly cause: FiringCause;
  /** The ids of its run and thread: every replica fires it with the same. */
  readonly runId: string;
  readonly threadId: string;
}

export interface PastSlot {
  readonly slot: number;
  readonly cause: FiringCause;
  readonly outcome: SlotOutcome;
  readonly at: number;
  readonly runId?: string;
  readonly threadId?: string;
  readonly reason?: string;
  /** Of a slot that was refused; absent of one that a release before this noted. */
  readonly code?: ErrorCode;
}

/** A thread that goes when its run has ended. */
interface UnkeptThread {
  readonly threadId: string;
  readonly runId: string;
  /** When it is looked at. */
  readonly checkAt: number;
}

/** A schedule as it is stored. */
export interface Schedule {
  readonly spec: ScheduleSpec;
  /** The body of the request that starts each run. */
  readonly run: Readonly<Record<string, unknown>>;
  /** What the dialect of that request adds to each run; absent: nothing. */
  readonly terms?: RunTerms;
  /** The claims of the caller who wrote the schedule last. */
  readonly user?: Readonly<Record<string, unknown>>;
  /** The one run of a delayed start: the schedule has its id, and goes once it is accepted. */
  readonly delayed?: true;
  readonly paused: boolean;
  /** Why nothing is fired any more. */
  readonly disabled?: { readonly reason: string; readonly at: number };
  /** The first slot that was not yet looked at; absent: there is none. */
  readonly next?: number;
  /** Slots whose time has come, in the order in which they are fired. */
  readonly pending: readonly PendingSlot[];
  /** The slot that is being fired: its run may have been accepted already. */
  readonly firing?: PendingSlot;
  /** When a slot that waits for the run before it is looked at again. */
  readonly waitUntil?: number;
  /** The run that was accepted last. */
  readonly last?: { readonly runId: string; readonly threadId: string };
  /** The newest first. */
  readonly past: readonly PastSlot[];
  readonly unkept: readonly UnkeptThread[];
  /** It was deleted; what is left is to remove its threads. */
  readonly deleted?: true;
}

export const scheduleBounds = {
  pending: 100,
  past: 20,
  unkept: 100,
  /** Bytes of a name, and of the reason in a past slot. */
  text: 256,
} as const;

export const fromScheduleJson = (json: Uint8Array): Schedule => JSON.parse(Buffer.from(json).toString()) as Schedule;
export const toScheduleJson = (schedule: Schedule): Uint8Array => Buffer.from(JSON.stringify(schedule));

/** Counts as now. */
const atOnce = 0;

/** When a sweep is to look at a schedule; `undefined`: never. */
export function dueAtOf(id: string, schedule: Schedule): number | undefined {
  const times = schedule.unkept.map(({ checkAt }) => checkAt);
  if (schedule.firing) times.push(atOnce);
  if (schedule.pending.length > 0 && isFiring(schedule)) times.push(schedule.waitUntil ?? atOnce);
  if (schedule.next !== undefined && schedule.pending.length < scheduleBounds.pending)
    times.push(dueTime(id, schedule.next, schedule.spec.jitterMs));
  const [outcome] = schedule.past;
  if (schedule.delayed && outcome) times.push(delayedUntil(outcome));
  if (times.length > 0) return Math.min(...times);
  return schedule.deleted ? atOnce : undefined;
}

/** Until when a delayed run is shown: one that could not be started for a week. */
export const delayedUntil = ({ outcome, at }: PastSlot): number =>
  outcome === 'started' ? atOnce : at + 7 * 24 * 3_600_000;

/** Whether slots are fired. A paused schedule fires what a caller asks for. */
export const isFiring = ({ disabled, deleted }: Schedule): boolean => !disabled && !deleted;

/** A schedule whose next slot is the first after a moment. One that is paused or disabled has none. */
export function withNext({ next: _, ...schedule }: Schedule, after: number): Schedule {
  const { spec, paused } = schedule;
  if (paused || !isFiring(schedule)) return schedule;
  const next = slotAfter(spec.timing, spec, after);
  return { ...schedule, ...(next !== undefined && { next }) };
}

/** A slot with the ids of its run. `key` distinguishes those of one time that a caller asked for. */
export function pendingSlot(
  id: string,
  { spec, delayed, run }: Pick<Schedule, 'spec' | 'delayed' | 'run'>,
  { slot, cause, key = '' }: { readonly slot: number; readonly cause: FiringCause; readonly key?: string },
): PendingSlot {
  const time = slot.toString(16).padStart(12, '0');
  // An id of the time of the slot, so that the ids of runs follow each other as their slots do.
  const seed = `${time.slice(0, 8)}-${time.slice(8)}-7 ${id} ${cause} ${key}`;
  const runId = delayed ? id : idFrom(seed, 'run');
  const threadId = spec.thread === 'new' ? idFrom(seed, 'thread') : (threadOf(run) ?? idFrom(id, 'thread'));
  return { slot, cause, runId, threadId };
}

/** The thread that the body of a run names. */
export function threadOf(run: Schedule['run']): string | undefined {
  const { thread_id: named } = (run['config'] ?? {}) as { readonly thread_id?: string | number };
  return named === undefined ? undefined : String(named);
}

export const withPast = (schedule: Schedule, ...past: readonly PastSlot[]): Schedule =>
  past.length === 0 ? schedule : { ...schedule, past: [...past, ...schedule.past].slice(0, scheduleBounds.past) };
