import { isRunFailure } from '@agent-workflow/graph/state/failure';
import { mayBeginEarly } from '@agent-workflow/graph/run/early';
import type { EventWriter } from '../events/event-writer.ts';
import type { DriveOptions } from './drive-options.ts';
import { createHold } from './hold.ts';
import { runNodes, type RanStep } from './run-nodes.ts';
import type { StepState } from './run-state.ts';

/** A step that has begun while the commit of the step before it is under way. */
interface EarlyStep {
  /**
   * The commit is on record, and its events are published: publishes what the step has emitted, and lets its calls go.
   * @returns the step, to be awaited; `undefined` when it has to begin anew, because it failed or emitted too much meanwhile.
   */
  readonly confirm: () => Promise<RanStep> | undefined;
  /** The commit was refused, or the record has another state: what the step has begun ends, and nothing of it is published. */
  readonly abandon: (reason: unknown) => void;
}

/**
 * Begins a step whose nodes are all speculative, in a later turn of the event loop: a commit that is asked for in this one is sent by then,
 * so that a node which blocks or ends the process cannot undo it. Until the step is confirmed nothing of it is published, its calls of the
 * memory service and of files wait, and its timeouts do not count.
 * @returns `undefined` when the step must wait for the commit.
 */
export function beginEarly(options: DriveOptions, events: EventWriter, step: StepState): EarlyStep | undefined {
  if (!mayBeginEarly(options.graph, step)) return undefined;
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
  const hold = createHold(signal, () => {
    const full = new Error('more was emitted than is held back until the commit before is on record');
    report(full);
    controller.abort(full);
  });

  const run = async (): Promise<RanStep> => {
    const servicesUnder: DriveOptions['servicesUnder'] = (until) => options.servicesUnder(until, hold.opened);
    const runContext = { ...options.runContext, signal, ...servicesUnder(signal) };
    const early = { publishLater: hold.whenOpen, countsFrom: hold.opened };
    return runNodes({ ...options, runContext, servicesUnder }, events, step, early);
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
  const beginning = setImmediate(begin);

  const abandon = (reason: unknown): void => {
    clearImmediate(beginning);
    outer.removeEventListener('abort', follow);
    controller.abort(reason);
  };
  return {
    abandon,
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
