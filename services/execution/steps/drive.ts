import { isRunFailure, type RunFailure } from '@agent-workflow/graph/state/failure';
import type { EventWriter } from '../events/event-writer.ts';
import { openLog } from '../events/open-log.ts';
import { begin } from './begin.ts';
import { failRun, type FailedRun } from './fail-run.ts';
import { finishStep, type EndedRun } from './finish-step.ts';
import type { DriveOptions } from './drive-options.ts';
import { awakeNodes, type RunState } from './run-state.ts';
import { runNodes, type RanStep } from './run-nodes.ts';

/** A run that was driven to its end or to a sleep. A failed one leaves no `thread` that could be cached. */
export type Driven = (EndedRun & { readonly failure?: undefined }) | (FailedRun & { readonly thread?: undefined });

/**
 * Drives a claimed run to its end or to a sleep: step after step, each committed behind the fence before it is published, then the last event.
 * @throws Stale when a stop or another worker has taken the run: this worker publishes nothing more of it.
 */
export async function driveRun(options: DriveOptions): Promise<Driven> {
  const first = beginOrFailure(options);
  if (isRunFailure(first)) {
    const events = await openLog({ ...options, nodes: [] });
    return failRun(options, events, undefined, first);
  }
  return driveSteps(options, await openLog({ ...options, nodes: awakeNodes(first) }), first);
}

async function driveSteps(options: DriveOptions, events: EventWriter, first: RunState): Promise<Driven> {
  let runState = first;
  let running: Promise<RanStep> | undefined;
  try {
    for (;;) {
      const result = await (running ?? runNodes(options, events, runState));
      const finished = await finishStep(options, events, runState, result);
      if ('ended' in finished) return finished.ended;
      ({ runState, running } = finished);
    }
  } catch (error) {
    if (!isRunFailure(error) || options.runContext.signal.aborted) throw error;
    return failRun(options, events, runState, error);
  }
}

function beginOrFailure(options: DriveOptions): RunState | RunFailure {
  try {
    return begin(options);
  } catch (error) {
    if (isRunFailure(error)) return error;
    throw error;
  }
}
