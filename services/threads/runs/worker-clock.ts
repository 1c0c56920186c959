import type { CommitStepRequest, StepWork } from '@agent-workflow/protos/threads';

/** How far the clock of a worker may be ahead of that of the record, in milliseconds. A clock that is behind looks as a commit does that came late. */
const clocksApartMs = 1000;

/** By how many milliseconds the clock of the worker is ahead that sent a commit; 0 where it is no further ahead than any clock may be. */
export function aheadOf({ at, fused }: CommitStepRequest, now: number): number {
  const ahead = Math.max(at, fused?.at ?? at) - now;
  return ahead > clocksApartMs ? ahead : 0;
}

/**
 * The commit as a worker would have sent it whose clock is right: each of its times is so much earlier, also the one until which the run sleeps.
 * What is kept for the next claim stays as it came: the worker that wakes the run holds its sleep to have ended.
 */
export function earlier(request: CommitStepRequest, ms: number): CommitStepRequest {
  if (ms === 0) return request;
  const { fused, wakeAt } = request;
  return {
    ...timesEarlier(request, ms),
    ...(wakeAt === undefined ? {} : { wakeAt: before(wakeAt, ms) }),
    ...(fused && { fused: timesEarlier(fused, ms) }),
  };
}

function timesEarlier<T extends { readonly at: number; readonly work?: StepWork }>(step: T, ms: number): T {
  const { at, work } = step;
  return {
    ...{ ...step, at: before(at, ms) },
    ...(work && { work: { ...work, startedAt: before(work.startedAt, ms) } }),
  };
}

/** No time is before 1970. */
const before = (time: number, ms: number): number => Math.max(0, time - ms);
