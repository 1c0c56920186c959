import { isRunFailure } from '@agent-workflow/graph/state/failure';
import { mayBeginEarly } from '@agent-workflow/graph/run/early';
import type { EventWriter } from '../events/event-writer.ts';
import type { DriveOptions, StepState } from './driven-run.ts';
import { runNodes, type EarlyParts, type Later, type RanStep } from './run-nodes.ts';

/** A step that has begun while the commit of the step before it is under way. */
export interface EarlyStep {
  /**
   * The commit is on record, and its events are published: publishes what the step has emitted, and lets its calls go.
   * @returns the step, to be awaited; `undefined` when it has to begin anew, because it failed or emitted too much meanwhile.
   */
  readonly confirm: () => Promise<RanStep> | undefined;
  /** Resolves by the end of this turn of the event loop: with the step, if it has ended by then. It must begin in this turn. */
  readonly endedInTurn: () => Promise<RanStep | undefined>;
  /** The commit was refused, or the record has another state: what the step has begun ends, and nothing of it is published. */
  readonly abandon: (reason: unknown) => void;
}

/**
 * Begins a step that may begin early, in a later turn of the event loop: a commit that is asked for in this one is sent by then,
 * so that a node which blocks or ends the process cannot undo it.
 * @returns `undefined` when the step must wait for the commit.
 */
export function beginEarly(options: DriveOptions, events: EventWriter, step: StepState): EarlyStep | undefined {
  const { graph, isRemote } = options;
  return mayBeginEarly(graph, { ...step, isRemote }) ? openEarly(options, events, step) : undefined;
}

/** Begins a step at once. `onToolTurn` is as in the engine's step. */
export const beginAtOnce = (
  options: DriveOptions,
  events: EventWriter,
  step: StepState,
  onToolTurn: EarlyParts['onToolTurn'],
): EarlyStep => openEarly(options, events, step, { isAtOnce: true, onToolTurn });

/**
 * Until the step is confirmed nothing of it is published, its calls of the memory service and of files wait, and its timeouts do not
 * count.
 */
function openEarly(
  options: DriveOptions,
  events: EventWriter,
  step: StepState,
  { isAtOnce = false, onToolTurn }: { readonly isAtOnce?: boolean } & Pick<EarlyParts, 'onToolTurn'> = {},
): EarlyStep {
  const { signal: outer } = options.runContext;
  const controller = new AbortController();
  const { signal } = controller;
  const follow = (): void => controller.abort(outer.reason);
  if (outer.aborted) follow();
  outer.addEventListener('abort', follow, { once: true });
  const report = (error: unknown): void => {
    const [node = ''] = step.nodes;
    options.onFault?.({ node: (isRunFailure(error) ? error.node : undefined) ?? node, attempt: 1, error });
  };
  const hold = new Hold(signal, () => {
    const full = new Error('more was emitted than is held back until the commit before is on record');
    report(full);
    controller.abort(full);
  });

  const run = (): Promise<RanStep> => {
    const opened = (): Promise<void> => hold.opened();
    const servicesUnder: DriveOptions['servicesUnder'] = (until, key) => options.servicesUnder(until, key, opened);
    const runContext = { ...options.runContext, signal, ...servicesUnder(signal) };
    const publishLater: Later = (content, work) => hold.whenOpen(content, work);
    return runNodes(options, events, step, { runContext, servicesUnder, publishLater, countsFrom: opened, onToolTurn });
  };

  let running: Promise<RanStep> | undefined;
  let isConfirmed = false;
  /** Whether what has begun is of no use, because it failed, or sleeps from before the commit on. */
  let isVain = false;
  const begin = (): void => {
    if (signal.aborted) return;
    running = run().finally(() => outer.removeEventListener('abort', follow));
    running.then(
      ({ continuation }) => {
        isVain = continuation?.sleeping !== undefined;
      },
      (error: unknown) => {
        isVain = true;
        if (isConfirmed || signal.aborted) return;
        report(error);
        controller.abort(error);
      },
    );
  };
  const beginning = isAtOnce ? undefined : setImmediate(begin);
  if (isAtOnce) begin();

  const abandon = (reason: unknown): void => {
    clearImmediate(beginning);
    outer.removeEventListener('abort', follow);
    controller.abort(reason);
  };
  return {
    abandon,
    endedInTurn: async () => (running ? byEndOfTurn(running) : undefined),
    confirm: () => {
      if (!running || isVain || signal.aborted) {
        abandon(new Error('the step begins anew'));
        return undefined;
      }
      isConfirmed = true;
      hold.open();
      return running;
    },
  };
}

/** What the work came to by the end of this turn of the event loop; `undefined` when it failed or goes on. */
async function byEndOfTurn<T>(work: Promise<T>): Promise<T | undefined> {
  let turn: NodeJS.Immediate | undefined;
  const over = new Promise<undefined>((resolve) => {
    turn = setImmediate(resolve, undefined);
  });
  try {
    return await Promise.race([work.catch(() => undefined), over]);
  } finally {
    clearImmediate(turn);
  }
}

/** The bounds of what is held back. Each entry takes some 200 bytes beside its content. */
const maxCharacters = 1024 * 1024;
const maxCount = 4096;

const charactersOf = (content: unknown): number =>
  typeof content === 'string' ? content.length : JSON.stringify(content).length;

/** Holds back what a step that began early would publish, until it may. The step ends with the signal. */
class Hold {
  #held: (() => void)[] | undefined = [];
  #characters = 0;
  #isFull = false;
  #gate: PromiseWithResolvers<undefined> | undefined;
  readonly #signal: AbortSignal;
  readonly #onFull: () => void;

  /** `onFull` is called when more would be held than 1 Mi characters or 4,096 entries. Nothing is held from then on. */
  constructor(signal: AbortSignal, onFull: () => void) {
    this.#signal = signal;
    this.#onFull = onFull;
  }

  whenOpen(content: unknown, work: () => void): void {
    if (!this.#held) {
      work();
      return;
    }
    if (this.#isFull) return;
    this.#characters += charactersOf(content);
    if (this.#characters <= maxCharacters && this.#held.length < maxCount) {
      this.#held.push(work);
      return;
    }
    this.#isFull = true;
    this.#held = [];
    this.#onFull();
  }

  /** Resolves when the hold opens; rejects with the reason when the signal fires before. */
  async opened(): Promise<void> {
    if (!this.#held) return;
    this.#gate ??= this.#closedGate();
    await this.#gate.promise;
  }

  /** Does what was held back, in its order. */
  open(): void {
    const waiting = this.#held ?? [];
    this.#held = undefined;
    try {
      for (const work of waiting) work();
    } finally {
      this.#gate?.resolve(undefined);
    }
  }

  #closedGate(): PromiseWithResolvers<undefined> {
    const gate = Promise.withResolvers<undefined>();
    const refuse = (): void => gate.reject(this.#signal.reason as Error);
    if (this.#signal.aborted) refuse();
    else this.#signal.addEventListener('abort', refuse, { once: true });
    return gate;
  }
}
