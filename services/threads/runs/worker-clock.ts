import type { CommitStepRequest, StepWork } from '@agent-workflow/protos/threads';

/** How far the clock of a worker may be ahead of that of the record, in milliseconds. A clock that is behind cannot be distinguished from a commit that came late. */
const clocksApartMs = 1000;

/** By how many milliseconds the clock of the worker that sent a commit is ahead; 0 where that is no more than {@link clocksApartMs}. */
export function aheadOf({ at, fused }: CommitStepRequest, now: number): number {
  const ahead = Math.max(at, fused?.at ?? at) - now;
  return ahead > clocksApartMs ? ahead : 0;
}

/**
 * The commit as a worker with a right clock would have sent it: each of its times is `ms` earlier, also the end of a sleep. The continuation stays as
 * it came, with the times of the worker: the one that wakes the run takes them into account.
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
