import { isServiceError } from '@agent-workflow/kit/errors';
import { createTurns } from '@agent-workflow/kit/turns';
import { within } from '@agent-workflow/protos/call';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import { toEventError } from '@agent-workflow/protos/failures';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus, RunStatus } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type { Run, RunError, State, Threads } from '@agent-workflow/protos/threads';
import { keepNewest, nothingAdded } from '../record/added.ts';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { EngineState } from '@agent-workflow/graph/state/state';
import { createEventWriter, type EventWriter } from './event-writer.ts';
import { shownAt } from './granularity.ts';
import { fromState } from '../record/hot-threads.ts';
import { numbersOfEnd } from '../ports/log-numbers.ts';
import { begin, listSteps } from './opening.ts';
import { fromJson } from '../record/run-options.ts';
import { toInvokeResult, type InvokeResult, type Outcome } from './outcome.ts';
import type { RunLog } from '../ports/port.ts';
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
    try {
      // A new log's numbers begin above those of any log before it, and follow each other from there.
      let behind = after;
      for await (const list of inParts(endingEvents(parts, events, run, { output, told }))) {
        await log.append(events.scope, behind, list);
        behind = events.last();
      }
      return;
    } catch (error) {
      // An event of the worker came in between, perhaps the last one.
      if (!isServiceError(error, 'Stale')) throw error;
    }
  }
}

async function* endingEvents(
  parts: EndParts,
  events: EventWriter,
  run: Run,
  { output, told }: { readonly output: Output; readonly told: ToldLog },
): AsyncGenerator<readonly RunEvent[]> {
  yield* missingEvents(events, run, output, told);
  yield [await lastEvent(parts, events, run, output)];
}

/** `rebuilt` says that the numbers are this log's own: the pieces that were streamed are not in it. */
function* missingEvents(
  events: EventWriter,
  run: Run,
  { added, steps }: Output,
  told: ToldLog,
): Generator<readonly RunEvent[]> {
  const at = run.updatedAt;
  const inSteps = new Set(steps.flatMap(({ messages }) => messages).map(({ message_id: id }) => id));
  yield begin(events, run, told, { at, rebuilt: true });
  for (const message of added) {
    const id = message.message_id;
    if (inSteps.has(id) || told.hasWhole(id)) continue;
    // Its step is no longer on record; the pieces of it that a worker streamed are in the log all the same.
    const place = told.placeOf(id);
    yield tellMessage(events, message, { place, at, told: told.step(place.step).message(id) });
  }
  for (const step of steps) yield tellSteps(events, run.granularity, [step], told);
}

/** Events that are appended together take about so many bytes. */
const partBytes = 1024 * 1024;

/** Lists of events joined to larger ones. They are made as they are asked for, and others have their turn in between. */
async function* inParts(lists: AsyncIterable<readonly RunEvent[]>): AsyncGenerator<readonly RunEvent[]> {
  const turns = createTurns();
  let part: RunEvent[] = [];
  let bytes = 0;
  for await (const list of lists) {
    for (const event of list) {
      part.push(event);
      bytes += bytesOfEvent(event);
    }
    if (turns.isOver()) await turns.pass();
    if (bytes < partBytes) continue;
    yield part;
    [part, bytes] = [[], 0];
  }
  if (part.length > 0) yield part;
}

async function lastEvent(parts: EndParts, events: EventWriter, run: Run, output: Output): Promise<RunEvent> {
  const at = run.updatedAt;
  const status = toldEnds[run.status];
  if (status !== 'failed') return events.end(await endOf(parts, run, { ...output, status }), at);
  const error = run.end?.error ?? unknownError;
  return events.write('error', toEventError(error), error.node === undefined ? {} : { node: error.node }, { at });
}

/** How the end of a run is told. One that has not ended lost its thread, and so was stopped. */
const toldEnds: Readonly<Record<RunStatus, EndStatus>> = {
  queued: 'stopped',
  running: 'stopped',
  completed: 'completed',
  interrupted: 'interrupted',
  failed: 'failed',
  stopped: 'stopped',
};

const unknownError: RunError = { code: 'Internal', message: 'the run failed' };

/** What a run left: everything that it added, and those of its steps that the record still keeps, in order. */
interface Output {
  readonly added: readonly Message[];
  readonly steps: readonly CommittedStep[];
}

/** Nothing when the thread is gone. */
async function outputOf(threads: Threads, { owner, runId, status }: Run): Promise<Output> {
  try {
    const messages = await listAdded(threads, { owner, runId });
    const steps = await listSteps(threads, { owner, runId, fromStep: 0 });
    // The commit that a failed run ended with has no nodes, and is told by its failure alone.
    const told = status === 'failed' ? steps.filter(({ nodes }) => nodes.length > 0) : steps;
    return { added: asCommitted(messages, steps), steps: told };
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return { added: [], steps: [] };
    throw error;
  }
}

/** What the run's steps added, as the log has it now. */
async function listAdded(threads: Threads, run: Pick<Run, 'owner' | 'runId'>): Promise<readonly Message[]> {
  const turns = createTurns();
  const added: Message[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await threads.listRunMessages(
      { owner: run.owner, runId: run.runId, ...(cursor === undefined ? {} : { cursor }) },
      within(callTimeoutMs),
    );
    for (const message of fromJson(page.messagesJson) as Message[]) added.push(message);
    ({ cursor } = page);
    if (cursor === undefined) return added;
    await turns.pass();
  }
}

/** Messages as the run left them: a later run may have replaced some. */
function asCommitted(added: readonly Message[], steps: readonly CommittedStep[]): readonly Message[] {
  const left = new Map(
    steps.flatMap(({ messages }) => messages.map((message) => [message.message_id, message] as const)),
  );
  return added.map((message) => left.get(message.message_id) ?? message);
}

async function endOf(
  parts: EndParts,
  run: Run,
  { added, status }: Pick<Output, 'added'> & Pick<Outcome, 'status'>,
): Promise<InvokeResult> {
  const outcome = {
    status,
    iterations: run.end?.iterations ?? 0,
    recursionLimitReached: run.end?.recursionLimitReached ?? false,
    added: keepNewest(added, nothingAdded),
    interrupts: JSON.parse(run.end?.interruptsJson ?? '[]') as Interrupt[],
    state: await stateOf(parts, run),
  } as const;
  return toInvokeResult(run, outcome, run.updatedAt);
}

const noState: EngineState = { values: { context_summary: '' }, context: [] };

/** The state that the run left; once that is no longer kept, as it is now. */
async function stateOf({ threads, graph }: EndParts, run: Run): Promise<EngineState> {
  if (!graph || (!shownAt[run.granularity].state && run.status !== 'interrupted')) return noState;
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
