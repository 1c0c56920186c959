import { isServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { Run, State, Threads } from '@agent-workflow/protos/threads';
import type { CompiledGraph } from './engine/graph.ts';
import type { Interrupt } from './engine/interrupt.ts';
import type { EngineState } from './engine/state.ts';
import { createEventWriter, type EventWriter } from './events.ts';
import { fromState } from './hot-threads.ts';
import { numbersOfEnd } from './log-numbers.ts';
import { begin, listSteps } from './opening.ts';
import { fromJson } from './options.ts';
import { toInvokeResult } from './outcome.ts';
import type { RunLog } from './port.ts';
import { tellMessage, tellSteps, type CommittedStep } from './tell-step.ts';
import { readTold, type ToldLog } from './told.ts';

export interface EndParts {
  readonly threads: Threads;
  readonly log: RunLog;
  readonly graph: CompiledGraph | undefined;
}

const callTimeoutMs = 30_000;

/** Ends that are being said: whoever comes meanwhile waits for the same one. */
const underWay = new WeakMap<RunLog, Map<string, Promise<void>>>();

/**
 * Says how a run ended when its worker cannot: after a stop, after the worker's death, or when the log that it wrote is no
 * longer kept. What the log does not have of the run's steps comes first. Does nothing when the end is said already.
 */
export async function publishEnd(parts: EndParts, run: Run): Promise<void> {
  const ends = underWay.get(parts.log) ?? new Map<string, Promise<void>>();
  underWay.set(parts.log, ends);
  const known = ends.get(run.runId);
  if (known) return known;
  const saying = sayEnd(parts, run).finally(() => ends.delete(run.runId));
  ends.set(run.runId, saying);
  return saying;
}

async function sayEnd(parts: EndParts, run: Run): Promise<void> {
  const { log } = parts;
  if (await log.isEnded(run.runId)) return;
  const output = await outputOf(parts.threads, run);
  for (;;) {
    if (await log.isEnded(run.runId)) return;
    const after = await log.last(run.runId);
    const events = createEventWriter(run, after === 0 ? numbersOfEnd : after);
    const told = await readTold(log, run.runId, after);
    const list = [...missingEvents(events, run, output, told), await lastEvent(parts, events, run, output)];
    try {
      await log.append(run.runId, after, list);
      return;
    } catch (error) {
      // An event of the worker came in between, perhaps the last one.
      if (!isServiceError(error, 'Stale')) throw error;
    }
  }
}

/** `rebuilt` says that the numbers are this log's own: the pieces that were streamed are not in it. */
function missingEvents(events: EventWriter, run: Run, { added, steps }: Output, told: ToldLog): RunEvent[] {
  const at = run.updatedAt;
  const inSteps = new Set(steps.flatMap(({ messages }) => messages).map(({ message_id: id }) => id));
  const older = added.filter(({ message_id: id }) => !inSteps.has(id) && !told.hasWhole(id));
  return [
    ...begin(events, run, told, { at, rebuilt: true }),
    ...older.flatMap((message) => {
      // Its step is no longer on record; the pieces of it that a worker streamed are in the log all the same.
      const place = told.placeOf(message.message_id);
      return tellMessage(events, message, { place, at, told: told.step(place.step).message(message.message_id) });
    }),
    ...tellSteps(events, run.granularity, steps, told),
  ];
}

async function lastEvent(parts: EndParts, events: EventWriter, run: Run, output: Output): Promise<RunEvent> {
  const at = run.updatedAt;
  if (run.status !== 'failed') return events.write('on_chain_end', await endOf(parts, run, output), {}, { at });
  const error = run.end?.error ?? unknownError;
  return events.write('error', error, 'node' in error ? { node: error.node } : {}, { at });
}

const unknownError = { code: 'INTERNAL_ERROR', message: 'the run failed' };

/** What a run left: everything that it added, and those of its steps that the record still keeps, in order. */
interface Output {
  readonly added: readonly Message[];
  readonly steps: readonly CommittedStep[];
}

/** Nothing when the thread is gone. */
async function outputOf(threads: Threads, { owner, runId, status }: Run): Promise<Output> {
  try {
    const { messagesJson } = await threads.listRunMessages({ owner, runId }, within(callTimeoutMs));
    const steps = await listSteps(threads, { owner, runId, fromStep: 0 });
    // The commit that a failed run ended with has no nodes, and is told by its failure alone.
    const told = status === 'failed' ? steps.filter(({ nodes }) => nodes.length > 0) : steps;
    return { added: asCommitted(fromJson(messagesJson) as Message[], steps), steps: told };
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return { added: [], steps: [] };
    throw error;
  }
}

/** Messages as the run left them: a later run may have replaced some. */
function asCommitted(added: readonly Message[], steps: readonly CommittedStep[]): readonly Message[] {
  const left = new Map(
    steps.flatMap(({ messages }) => messages.map((message) => [message.message_id, message] as const)),
  );
  return added.map((message) => left.get(message.message_id) ?? message);
}

async function endOf(parts: EndParts, run: Run, { added }: Output): Promise<Record<string, unknown>> {
  const outcome = {
    status: run.status === 'completed' || run.status === 'interrupted' ? run.status : 'stopped',
    iterations: run.end?.iterations ?? 0,
    recursionLimitReached: run.end?.recursionLimitReached ?? false,
    added,
    interrupts: JSON.parse(run.end?.interruptsJson ?? '[]') as Interrupt[],
    state: await stateOf(parts, run),
  } as const;
  return toInvokeResult(run, outcome, run.updatedAt);
}

const noState: EngineState = { values: { context_summary: '' }, context: [] };

/** The state that the run left; once that is no longer kept, as it is now. */
async function stateOf({ threads, graph }: EndParts, run: Run): Promise<EngineState> {
  if (!graph || (run.granularity === 'low' && run.status !== 'interrupted')) return noState;
  try {
    return fromState(graph, await keptState(threads, run)).state;
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return noState;
    throw error;
  }
}

/** How many versions back the one that a run left is looked for. */
const versionsLookedAt = 100;

async function keptState(threads: Threads, { owner, threadId, runId }: Run): Promise<State> {
  const key = { owner, threadId };
  const call = within(callTimeoutMs);
  const { checkpoints } = await threads.listCheckpoints({ ...key, limit: versionsLookedAt, offset: 0 }, call);
  const left = checkpoints.find((checkpoint) => checkpoint.runId === runId);
  if (!left) return threads.getState(key, call);
  try {
    return (await threads.getCheckpoint({ ...key, checkpointId: left.checkpointId }, call)).state;
  } catch (error) {
    // It was dropped meanwhile.
    if (isServiceError(error, 'NotFound')) return threads.getState(key, call);
    throw error;
  }
}
