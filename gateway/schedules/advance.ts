import type { ServiceError } from '@agent-workflow/kit/errors';
import { newestSlot, slotAfter, dueTime } from './slots.ts';
import {
  isFiring,
  pendingSlot,
  scheduleBounds,
  withNext,
  withPast,
  type PastSlot,
  type PendingSlot,
  type Schedule,
} from './schedule.ts';

/** So late a slot counts as fired in its time, in milliseconds: longer than a start of the process, or a change of its leader, takes. */
const onTimeMs = 60_000;
/** Threads are removed so long after their slot was fired, in milliseconds: later than any replica may still accept the slot. */
const unkeptMs = 3 * 60_000;
/** How often a thread is looked at whose run goes on, in milliseconds. */
const unkeptAgainMs = 5 * 60_000;

/** Moves the slots whose time has come to those that are to be fired, but for the missed ones that are not made up for. */
export function takeDue(id: string, schedule: Schedule, now: number): Schedule {
  const { spec, next } = schedule;
  const dueOf = (slot: number): number => dueTime(id, slot, spec.jitterMs);
  if (next === undefined || dueOf(next) > now || !isFiring(schedule)) return schedule;
  const lateMs = spec.catchUp === 'none' ? onTimeMs : Math.max(onTimeMs, spec.catchUpMs);
  const from = firstKept(schedule, next, now - lateMs - spec.jitterMs, now - onTimeMs - spec.jitterMs);
  const { next: _, ...rest } = schedule;
  const missed = from === next ? [] : [missedFrom(next, now)];
  const pending = [...schedule.pending];
  let slot = from;
  while (slot !== undefined && dueOf(slot) <= now && pending.length < scheduleBounds.pending) {
    pending.push(pendingSlot(id, schedule, { slot, cause: 'slot' }));
    slot = slotAfter(spec.timing, spec, slot);
  }
  return withPast({ ...rest, pending, ...(slot !== undefined && { next: slot }) }, ...missed);
}

/**
 * The first slot that is fired: none before `oldest`, and where one is made up for, the newest of those that are late. A delayed run starts
 * however late it is.
 */
function firstKept({ spec, delayed }: Schedule, next: number, oldest: number, late: number): number | undefined {
  if (delayed) return next;
  const first = next >= oldest ? next : slotAfter(spec.timing, spec, oldest - 1);
  if (spec.catchUp !== 'one' || first === undefined || first > late) return first;
  return newestSlot(spec.timing, spec, first - 1, late) ?? first;
}

const missedFrom = (slot: number, at: number): PastSlot => ({
  ...{ slot, at, cause: 'slot', outcome: 'missed' },
  reason: 'no slot could be fired in its time, and catch_up leaves this one out',
});

/** What the run before a slot means for it. */
type Overlap = 'fire' | 'skip' | 'wait' | 'stop other';

/** Runs that a caller asked for start at once. Those of a backfill would all be skipped, so they wait for each other. */
export function overlapOf({ spec }: Schedule, { cause }: PendingSlot): Overlap {
  if (cause === 'manual' || spec.overlap === 'allow') return 'fire';
  if (cause === 'backfill' || spec.overlap === 'queue') return 'wait';
  return spec.overlap === 'skip' ? 'skip' : 'stop other';
}

/** The first pending slot is being fired. */
export function beginFiring({ waitUntil: _, ...schedule }: Schedule): Schedule {
  const [firing, ...pending] = schedule.pending;
  return firing ? { ...schedule, pending, firing } : schedule;
}

export function skipFirst({ waitUntil: _, ...schedule }: Schedule, reason: string, at: number): Schedule {
  const [skipped, ...pending] = schedule.pending;
  if (!skipped) return schedule;
  const { slot, cause } = skipped;
  return withPast({ ...schedule, pending }, { slot, cause, outcome: 'skipped', at, reason });
}

/** It is looked at again the later the longer it waits already: between two seconds and a minute. */
export function waitFirst(schedule: Schedule, now: number): Schedule {
  const waited = now - (schedule.pending[0]?.slot ?? now);
  return { ...schedule, waitUntil: now + Math.min(60_000, Math.max(2000, Math.floor(waited / 8))) };
}

/** The slot that was being fired has its run. */
export function fired({ firing, ...schedule }: Schedule, now: number): Schedule {
  if (!firing) return schedule;
  const { runId, threadId, slot, cause } = firing;
  const isUnkept = schedule.spec.thread === 'new' && !schedule.spec.keepThreads;
  return withPast(
    {
      ...schedule,
      last: { runId, threadId },
      unkept: isUnkept ? [...schedule.unkept, { runId, threadId, checkAt: now + unkeptMs }] : schedule.unkept,
    },
    { slot, cause, outcome: 'started', at: now, runId, threadId },
  );
}

/** The slot that was being fired has no run, and gets none. */
export const dropped = ({ firing: _, ...schedule }: Schedule): Schedule => schedule;

/** The slot that was being fired is given up for a reason that another attempt would meet again. */
export function refused(
  { firing, ...schedule }: Schedule,
  { code, message }: Pick<ServiceError, 'code' | 'message'>,
  now: number,
): Schedule {
  if (!firing) return schedule;
  const { slot, cause } = firing;
  return withPast(schedule, { slot, cause, outcome: 'refused', at: now, code, reason: shortened(message) });
}

/** Nothing is fired any more, until its owner resumes it. */
export function disabled({ next: _, waitUntil: __, ...schedule }: Schedule, reason: string, at: number): Schedule {
  return { ...schedule, pending: [], disabled: { reason: shortened(reason), at } };
}

export function paused({ next: _, ...schedule }: Schedule): Schedule {
  return { ...schedule, paused: true, pending: schedule.pending.filter(({ cause }) => cause !== 'slot') };
}

/** What was missed meanwhile stays missed. */
export const resumed = ({ disabled: _, ...schedule }: Schedule, now: number): Schedule =>
  withNext({ ...schedule, paused: false }, now);

/** Nothing is fired any more, and the threads that are not kept go. */
export const deleted = ({ next: _, waitUntil: __, ...schedule }: Schedule): Schedule => ({
  ...schedule,
  pending: [],
  deleted: true,
});

/** The thread goes, or stays because somebody is asked something in it; or its run goes on. */
export function checked(schedule: Schedule, thread: string, goesOn: boolean, now: number): Schedule {
  const unkept = schedule.unkept.flatMap((one) => {
    if (one.threadId !== thread) return [one];
    return goesOn ? [{ ...one, checkAt: now + unkeptAgainMs }] : [];
  });
  return { ...schedule, unkept };
}

/** Bytes of UTF-8 may be cut within a character: the text is well-formed again after it. */
const shortened = (text: string): string =>
  Buffer.byteLength(text) <= scheduleBounds.text
    ? text
    : `${Buffer.from(text)
        .subarray(0, scheduleBounds.text)
        .toString()
        .replace(/\uFFFD$/, '')}…`;
