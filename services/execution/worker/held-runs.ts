import type { RunnableRun } from '../ports/port.ts';

/** A run as another worker can have it: from this worker's claim. */
export type HeldRun = RunnableRun & Required<Pick<RunnableRun, 'takeoverEpoch'>>;

/** The runs that one worker has: those it drives, and those whose claim it has asked for. */
export interface HeldRuns {
  /** The run counts as held from here, because its claim may take effect; what is given says that its answer is there. */
  readonly expect: (runId: string) => () => void;
  /** The run is driven until what is given is disposed of. The signal of an older claim of it fires. */
  readonly hold: (run: HeldRun) => Hold;
  /** Fires the signal of a run; of one that is expected, as soon as it is held. */
  readonly stop: (runId: string) => void;
  readonly drives: (runId: string) => boolean;
  readonly has: (runId: string) => boolean;
  readonly all: () => readonly HeldRun[];
  /** Fires the signals of all, and of those that are held from here on. */
  readonly stopAll: (reason: Error) => void;
}

export interface Hold extends Disposable {
  readonly signal: AbortSignal;
}

interface Driving {
  readonly run: HeldRun;
  readonly controller: AbortController;
}

interface Expected {
  claims: number;
  stopped: boolean;
}

export function createHeldRuns(): HeldRuns {
  const driving = new Map<string, Driving>();
  const expected = new Map<string, Expected>();
  let allStopped: Error | undefined;

  const answered = (runId: string, claim: Expected): void => {
    claim.claims--;
    if (claim.claims === 0) expected.delete(runId);
  };

  return {
    expect: (runId) => {
      const claim = expected.get(runId) ?? { claims: 0, stopped: false };
      claim.claims++;
      expected.set(runId, claim);
      return () => answered(runId, claim);
    },

    hold: (run) => {
      const { runId } = run;
      const mine = { run, controller: new AbortController() };
      driving.get(runId)?.controller.abort(new Error('the run was claimed anew'));
      driving.set(runId, mine);
      const reason = expected.get(runId)?.stopped === true ? stopped() : allStopped;
      if (reason) mine.controller.abort(reason);
      return {
        signal: mine.controller.signal,
        [Symbol.dispose]: () => {
          if (driving.get(runId) === mine) driving.delete(runId);
        },
      };
    },

    stop: (runId) => {
      const claim = expected.get(runId);
      if (claim) claim.stopped = true;
      driving.get(runId)?.controller.abort(stopped());
    },

    drives: (runId) => driving.has(runId),
    has: (runId) => driving.has(runId) || expected.has(runId),
    all: () => [...driving.values()].map(({ run }) => run),

    stopAll: (reason) => {
      allStopped = reason;
      for (const { controller } of driving.values()) controller.abort(reason);
    },
  };
}

const stopped = (): Error => new Error('the run was stopped');
