import { isServiceError } from '@agent-workflow/kit/errors';
import { createTurns } from '@agent-workflow/kit/turns';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import { within } from '@agent-workflow/protos/call';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import { addedBefore, type Added } from '../record/added.ts';
import type { Carry } from '@agent-workflow/graph/run/carry';
import { createEventWriter, type EventWriter } from './event-writer.ts';
import { fromJson } from '../record/run-options.ts';
import { numbersOfClaim } from '../ports/log-numbers.ts';
import type { RunLog } from '../ports/port.ts';
import { fromRunStep, tellSteps, type CommittedStep } from './tell-step.ts';
import { readTold, type ToldLog } from './told.ts';

/** What an earlier claim of the run left behind. */
export interface Earlier {
  readonly added: Added;
  readonly visits: ReadonlyMap<string, number>;
  /** Also what an interrupted run left for the one that goes on with it. */
  readonly carry: Carry | undefined;
}

/** What the worker keeps with each commit for whoever claims the run after it. */
export const toProgressJson = (visits: ReadonlyMap<string, number>, carry: Carry | undefined): Uint8Array =>
  Buffer.from(JSON.stringify({ visits: Object.fromEntries(visits), carry }));

interface Kept {
  readonly visits: Readonly<Record<string, number>>;
  readonly carry?: Carry;
}

export function earlierOf(claimed: ClaimedRun): Earlier {
  const { progressJson, isTakeover, step } = claimed;
  const kept: Kept = progressJson ? (fromJson(progressJson) as Kept) : { visits: {} };
  // Before its own first commit a run finds what the run before it kept: its iterations are not this one's.
  const visits = isTakeover && step > 0 ? kept.visits : {};
  return {
    added: addedBefore(claimed),
    visits: new Map(Object.entries(visits)),
    carry: kept.carry,
  };
}

export interface Opening {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly threads: Threads;
  readonly log: RunLog;
  /** The nodes that the run goes on with, whose beginning is told; none where it cannot begin. */
  readonly nodes: readonly string[];
}

/**
 * Begins the run's log, or goes on with it. What a dead worker committed and did not get to tell comes first; with that, and
 * with the beginning of the first nodes, the log is this worker's: whatever the other still says is Stale.
 */
export async function openEvents(opening: Opening): Promise<EventWriter> {
  const { claimed, log } = opening;
  if (claimed.isTakeover || claimed.attempt > 1) return takeEvents(opening);
  const events = createEventWriter(claimed, 0);
  const list = [...begin(events, claimed), ...tellBegun(events, opening)];
  // A log that cannot be written holds up no run: whoever ends the run hears of it.
  log.append(events.scope, 0, list).catch(() => undefined);
  return events;
}

/** How often a log is read again because the worker before was heard of once more. */
const takeAttempts = 5;

async function takeEvents(opening: Opening): Promise<EventWriter> {
  const { owner, claimed, threads, log } = opening;
  const { runId, granularity, step } = claimed;
  for (let attempt = 1; ; attempt++) {
    const read = await readLog(log, runId);
    // A log that cannot be read holds up no run either: nothing goes behind a number that it has not come to.
    if (!read) return createEventWriter(claimed, unreachable);
    const { told, after } = read;
    // One that is empty may have been lost, with events that somebody has seen.
    const isGone = after === 0;
    const events = createEventWriter(claimed, isGone ? numbersOfClaim(claimed.epoch) : after);
    const steps = step === 0 ? [] : await listSteps(threads, { owner, runId, fromStep: told.lastStep() ?? 0 });
    const gone = isGone ? ({ rebuilt: true } as const) : {};
    const missing = [...begin(events, claimed, told, gone), ...tellSteps(events, granularity, steps, told)];
    try {
      await log.append(events.scope, after, [...missing, ...tellBegun(events, opening)]);
      return events;
    } catch (error) {
      if (!isServiceError(error, 'Stale') || attempt === takeAttempts) return events;
    }
  }
}

const unreachable = 2 ** 40;

/** What the log tells, and up to where; `undefined` when it cannot be read. */
async function readLog(
  log: RunLog,
  runId: string,
): Promise<{ readonly told: ToldLog; readonly after: number } | undefined> {
  try {
    const after = await log.last(runId);
    return { told: await readTold(log, runId, after), after };
  } catch {
    return undefined;
  }
}

const callTimeoutMs = 30_000;

/** The run's steps as they were committed, as far as the record keeps them. */
export async function listSteps(
  threads: Threads,
  { owner, runId, fromStep }: { readonly owner: string; readonly runId: string; readonly fromStep: number },
): Promise<readonly CommittedStep[]> {
  const turns = createTurns();
  const listed: CommittedStep[] = [];
  for (let next = fromStep; ;) {
    const { steps } = await threads.listRunSteps({ owner, runId, fromStep: next }, within(callTimeoutMs));
    const last = steps.at(-1);
    if (!last) return listed;
    for (const step of steps) {
      listed.push(fromRunStep(step));
      if (turns.isOver()) await turns.pass();
    }
    next = last.step + 1;
  }
}

/** The two events that every log begins with, as far as they are not there. */
export function begin(
  events: EventWriter,
  { requestId, threadId, runId, isNewThread }: RunScope,
  told?: Pick<ToldLog, 'has'>,
  { at = Date.now(), ...extra }: { readonly at?: number; readonly rebuilt?: true } = {},
): RunEvent[] {
  const data = { request_id: requestId, thread_id: threadId, run_id: runId, is_new_thread: isNewThread, ...extra };
  return [
    ...(told?.has('metadata') ? [] : [events.write('metadata', data, {}, { at })]),
    ...(told?.has('on_chain_start') ? [] : [events.write('on_chain_start', {}, {}, { at })]),
  ];
}

/** A step that an earlier claim had begun and not committed runs again: what it streamed then was dropped. */
function tellBegun(events: EventWriter, { claimed, nodes }: Opening): RunEvent[] {
  const { step, isTakeover, attempt } = claimed;
  const status = isTakeover ? { status: 'restarted', attempt } : { status: 'started' };
  return nodes.map((node) => events.write('on_chain_stream', { node, step, ...status }, { node, step }));
}
