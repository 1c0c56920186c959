import { isRunFailure } from '@agent-workflow/graph/state/failure';
import { toolsToFuse } from '@agent-workflow/graph/run/early';
import type { EventWriter } from '../events/event-writer.ts';
import { areSmall } from './prepare-commit.ts';
import type { DriveOptions } from './drive-options.ts';
import { beginAtOnce, type EarlyStep } from './early-step.ts';
import { endStep, stateBehind, type EndedStep } from './ended-step.ts';
import type { RanStep } from './run-nodes.ts';

/** A step of pure tools that has begun before the commit of the step before it is sent. */
export interface Trial {
  readonly early: EarlyStep;
  /** The step, when it has ended, and may be committed in one write with the step before it. */
  readonly second?: EndedStep | undefined;
}

/** How long one call may keep the event loop, and with it the commit of the step before, in milliseconds. A tool that takes longer is late. */
const promptMs = 1;

/**
 * Begins the next step when it is one of pure tools, and waits for it until the end of this turn of the event loop. What was to be sent in
 * this turn is then sent later only by the time that the tools compute.
 * @returns `undefined` when the commit of the step must be sent first.
 */
export async function tryFused(
  options: DriveOptions,
  events: EventWriter,
  step: EndedStep,
): Promise<Trial | undefined> {
  const { promptTools } = options;
  const tools = mayBeFirst(options, step)
    ? toolsToFuse(options.graph, step.runState, nextOf(options, step))
    : undefined;
  if (!tools || !promptTools.mayBe(tools)) return undefined;
  let isSlow = false;
  const early = beginAtOnce(options, events, step.following, (_tool, ms) => {
    isSlow ||= ms > promptMs;
  });
  const result = await early.endedInTurn();
  promptTools.note(tools, result !== undefined && !isSlow);
  return { early, second: result && secondOf(options, step, result) };
}

const nextOf = ({ isRemote }: DriveOptions, { following }: EndedStep): Parameters<typeof toolsToFuse>[2] => ({
  ...following,
  isRemote,
});

/**
 * The first step of a takeover is committed by itself: a tool that ends its process costs one answer of the model, and not one for each
 * claim. What replaces or removes messages may need the state that only the record knows.
 */
function mayBeFirst({ claimed }: DriveOptions, { runState, result, outcome, wakeAt, delta }: EndedStep): boolean {
  if (claimed.isTakeover && runState.step === claimed.step) return false;
  return !outcome && wakeAt === undefined && isPlain(result) && !delta.mayReplace && delta.removed.length === 0;
}

/** Whether nothing of the step waits, asks or sleeps. */
const isPlain = ({ waiting, interrupts, openCalls, wakeAt }: RanStep): boolean =>
  !waiting && wakeAt === undefined && interrupts.length === 0 && openCalls.length === 0;

function secondOf(options: DriveOptions, first: EndedStep, result: RanStep): EndedStep | undefined {
  if (!isPlain(result) || result.continuation) return undefined;
  try {
    const second = endStep(options, stateBehind(first), result, first.commit.used);
    return areSmall(first.commit, second.commit) ? second : undefined;
  } catch (error) {
    // Its failure is found again when the first step is on record.
    if (isRunFailure(error)) return undefined;
    throw error;
  }
}
