import { isServiceError, unavailable, undefinedIfNotFound, type ErrorCode } from '@agent-workflow/kit/errors';
import { retry, type Backoff } from '@agent-workflow/kit/retry';
import { createYielder } from '@agent-workflow/kit/yielder';
import { within } from '@agent-workflow/protos/call';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import { toEventError } from '@agent-workflow/protos/failures';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus, RunStatus } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type {
  HistoryCalls,
  Run,
  RunEnd,
  RunError,
  RunReadCalls,
  State,
  StateCalls,
  ThreadReadCalls,
} from '@agent-workflow/protos/threads';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { EngineState } from '@agent-workflow/graph/state/state';
import { fromUsageJson } from '@agent-workflow/protos/usage';
import { keepNewest, nothingAdded } from '../record/progress.ts';
import { listSteps, type CommittedStep } from '../record/committed-step.ts';
import { fromJson } from '../record/json.ts';
import { fromState } from '../record/thread-state.ts';
import { numbersOfClaim, numbersOfEnd } from '../ports/log-numbers.ts';
import { isUnreadableDefinition, type KnownAgents } from '../record/known-agents.ts';
import type { RunLog } from '../ports/log.ts';
import { messageEvents, missingStepEvents, EventWriter } from './event-writer.ts';
import { shownAt, toInvokeResult, type InvokeResult, type Outcome } from './outcome.ts';
import { firstEvents } from './open-log.ts';
import { readPublished, type PublishedEvents } from './published.ts';

export interface EndParts {
  readonly threads: RunReadCalls & StateCalls & HistoryCalls;
  readonly eventLog: RunLog;
  readonly known: Pick<KnownAgents, 'find'>;
}

/** What the result of a run that has ended is read with. */
export interface ResultParts extends Pick<EndParts, 'known'> {
  readonly threads: EndParts['threads'] & Pick<ThreadReadCalls, 'getThread'>;
}

const callTimeoutMs = 30_000;

/** The ends that are being published. A second call for the same run gets the promise of the first. */
const underWay = new WeakMap<RunLog, Map<string, Promise<void>>>();

/**
 * Publishes the end of a run from the record when its worker cannot: after a stop, after the worker's death, or when the log
 * that it wrote is no longer kept. Events of the run's steps that the log lacks come first. Does nothing when the log has ended.
 */
export async function publishEnd(parts: EndParts, run: Run): Promise<void> {
  const ends = underWay.get(parts.eventLog) ?? new Map<string, Promise<void>>();
  underWay.set(parts.eventLog, ends);
  const known = ends.get(run.runId);
  if (known) return known;
  const publishing = publishMissing(parts, run).finally(() => ends.delete(run.runId));
  ends.set(run.runId, publishing);
  return publishing;
}

/**
 * How often an end is published again because another process has appended meanwhile. The worker and three replicas may do so at the same
 * time; a worker of a pool may do so for ever.
 */
const publishAttempts = 12;
const publishBackoff: Backoff = { firstMs: 10, maxMs: 500 };

async function publishMissing(parts: EndParts, run: Run): Promise<void> {
  const { eventLog } = parts;
  eventLog.setAgent(run.runId, run.agent);
  if (await eventLog.isEnded(run.runId)) return;
  const output = await outputOf(parts.threads, run);
  try {
    await appendEnd(parts, run, { ...output, readState: () => stateOf(parts, run) });
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    // No events can be made of what is on record. The end is published without it: it would fail in the same way the next time.
    await appendEnd(parts, readablePartOf(run), { ...noOutput, readState: () => Promise.resolve(noState) });
  }
}

/** Whether an error comes from texts or times on record that are not what they should be. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;

const readablePartOf = (run: Run): Run => {
  const { interruptsJson: _, ...end } = run.end ?? unknownEnd;
  return { ...run, updatedAt: Math.min(run.updatedAt, Date.now()), end };
};

/** What the events at the end of a run are made of. */
interface Ending extends Output {
  readonly readState: () => Promise<EngineState>;
}

/** @throws Unavailable when something else writes to the log for as long as it is tried. */
async function appendEnd(parts: Pick<EndParts, 'eventLog'>, run: Run, ending: Ending): Promise<void> {
  await retry(() => appendMissing(parts, run, ending), {
    ...publishBackoff,
    maxAttempts: publishAttempts,
    // Perhaps the last event was appended.
    mayHelp: (error) => isServiceError(error, 'Stale'),
  }).catch((error: unknown) => {
    if (!isServiceError(error, 'Stale')) throw error;
    throw unavailable('the end of the run cannot be published right now: something else writes to its log', error);
  });
}

/** Appends what the log lacks, unless it has ended. @throws Stale when another process appends meanwhile. */
async function appendMissing({ eventLog }: Pick<EndParts, 'eventLog'>, run: Run, ending: Ending): Promise<void> {
  if (await eventLog.isEnded(run.runId)) return;
  const after = await eventLog.last(run.runId);
  const events = new EventWriter(run, after === 0 ? numbersOfEnd : after);
  const published = await readPublished(eventLog, run.runId, after);
  // The first append to an empty log names 0; its events begin above the numbers of every log before it.
  let last = after;
  for await (const list of inBatches(endingEvents(events, run, ending, published))) {
    await eventLog.append(events.scope, last, list);
    last = events.last;
  }
}

/**
 * Publishes what a sleeping run has committed when its log is no longer kept: a follower that comes during the sleep need not wait for its
 * end. The worker that wakes the run continues the log.
 */
export async function publishAsleep(parts: EndParts, run: Run): Promise<void> {
  const { eventLog, threads } = parts;
  eventLog.setAgent(run.runId, run.agent);
  if (run.status !== 'sleeping' || run.epoch === undefined || (await eventLog.last(run.runId)) > 0) return;
  const output = await outputOf(threads, run);
  const events = new EventWriter(run, numbersOfClaim(run.epoch));
  const published = await readPublished(eventLog, run.runId, 0);
  try {
    let last = 0;
    for await (const list of inBatches(missingEvents(events, run, output, published))) {
      await eventLog.append(events.scope, last, list);
      last = events.last;
    }
  } catch (error) {
    // Stale: another replica publishes it, or the run is awake.
    if (!isServiceError(error, 'Stale')) throw error;
  }
}

async function* endingEvents(
  events: EventWriter,
  run: Run,
  ending: Ending,
  published: PublishedEvents,
): AsyncGenerator<readonly RunEvent[]> {
  yield* missingEvents(events, run, ending, published);
  yield [await lastEvent(events, run, ending)];
}

/** `rebuilt` shows followers that the log has numbers of its own and lacks the chunks that were streamed. */
function* missingEvents(
  events: EventWriter,
  run: Run,
  { added, steps }: Output,
  published: PublishedEvents,
): Generator<readonly RunEvent[]> {
  const at = run.updatedAt;
  const inSteps = new Set(steps.flatMap(({ messages }) => messages).map(({ message_id: id }) => id));
  yield firstEvents(events, run, published, { at, rebuilt: true });
  for (const message of added) {
    const id = message.message_id;
    if (inSteps.has(id) || published.hasWhole(id)) continue;
    // The record no longer keeps its step, but the log may hold chunks of it that a worker streamed.
    const source = published.sourceOf(id);
    yield messageEvents(events, message, { source, at, published: published.step(source.step).message(id) });
  }
  const ended = new Set<string>();
  for (const step of steps) yield missingStepEvents(events, run.granularity, [step], published, ended);
}

/** The events of one append take about this many bytes. */
const batchBytes = 1024 * 1024;

/** Joins lists of events to larger ones. Lists are made as they are consumed, and other work has its turn in between. */
async function* inBatches(
  lists: AsyncIterable<readonly RunEvent[]> | Iterable<readonly RunEvent[]>,
): AsyncGenerator<readonly RunEvent[]> {
  const yielder = createYielder();
  let batch: RunEvent[] = [];
  let bytes = 0;
  for await (const list of lists) {
    for (const event of list) {
      batch.push(event);
      bytes += bytesOfEvent(event);
    }
    if (yielder.isDue()) await yielder.yield();
    if (bytes < batchBytes) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

async function lastEvent(events: EventWriter, run: Run, ending: Ending): Promise<RunEvent> {
  const at = run.updatedAt;
  const status = publishedStatuses[run.status];
  if (status !== 'failed') return events.end(await endOf(run, ending, status), at);
  const error = run.end?.error ?? unknownError;
  return events.write('error', toEventError(error), error.node === undefined ? {} : { node: error.node }, { at });
}

/** The status that the last event names. A run that has not ended on record lost its thread, and so was stopped. */
const publishedStatuses: Readonly<Record<RunStatus, EndStatus>> = {
  queued: 'stopped',
  running: 'stopped',
  sleeping: 'stopped',
  completed: 'completed',
  interrupted: 'interrupted',
  failed: 'failed',
  stopped: 'stopped',
};

/** What a run that has ended came to, as invoke answers it at granularity `low`; `undefined` for one that failed, or whose thread is gone. */
export async function resultOf(parts: ResultParts, ended: Run): Promise<object | undefined> {
  const run = { ...ended, granularity: 'low' as const };
  const status = publishedStatuses[run.status];
  if (status === 'failed') return undefined;
  const ending = { added: await addedBy(parts.threads, run), steps: [], readState: () => stateOf(parts, run) };
  const { first, last } = await endOf(run, ending, status);
  return { ...first, ...last };
}

/** What a run added, as it left it. Its steps, which are dear to read, are read only where the thread has changed since. */
async function addedBy(threads: ResultParts['threads'], run: Run): Promise<readonly Message[]> {
  const { owner, threadId, runId } = run;
  try {
    const messages = await listAdded(threads, run);
    const thread = await threads.getThread({ owner, threadId }, within(callTimeoutMs));
    if (thread.runId === runId && thread.updatedAt === run.updatedAt) return messages;
    return asCommitted(messages, await listSteps(threads, { owner, runId, fromStep: 0 }));
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

const unknownError: RunError = { code: 'Internal', message: 'the run failed' };
const unknownEnd: RunEnd = { status: 'stopped', iterations: 0, recursionLimitReached: false };

/** All messages that a run added, and those of its steps that the record still keeps, in order. */
interface Output {
  readonly added: readonly Message[];
  readonly steps: readonly CommittedStep[];
}

const noOutput: Output = { added: [], steps: [] };

/** Empty when the thread is gone, or what is on record cannot be read. */
async function outputOf(threads: RunReadCalls, { owner, runId, status }: Run): Promise<Output> {
  try {
    const messages = await listAdded(threads, { owner, runId });
    const steps = await listSteps(threads, { owner, runId, fromStep: 0 });
    // The commit that a failed run ended with has no nodes: the `error` event stands for it.
    const published = status === 'failed' ? steps.filter(({ nodes }) => nodes.length > 0) : steps;
    return { added: asCommitted(messages, steps), steps: published };
  } catch (error) {
    // Neither a run whose thread is gone nor one whose texts cannot be read may keep its followers waiting.
    if (isGone(error)) return noOutput;
    throw error;
  }
}

const isGone = (error: unknown): boolean => isServiceError(error, 'NotFound') || isUnreadable(error);

/** The messages that the run added, as the thread has them now. */
async function listAdded(threads: RunReadCalls, run: Pick<Run, 'owner' | 'runId'>): Promise<readonly Message[]> {
  const yielder = createYielder();
  const added: Message[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await threads.listRunMessages(
      { owner: run.owner, runId: run.runId, ...(cursor === undefined ? {} : { cursor }) },
      within(callTimeoutMs),
    );
    for (const message of fromJson(page.messagesJson) as Message[]) added.push(message);
    ({ cursor } = page);
    if (cursor === undefined) return added;
    await yielder.yield();
  }
}

/** Messages as the run left them: a later run may have replaced some of them in the thread. */
function asCommitted(added: readonly Message[], steps: readonly CommittedStep[]): readonly Message[] {
  const left = new Map(
    steps.flatMap(({ messages }) => messages.map((message) => [message.message_id, message] as const)),
  );
  return added.map((message) => left.get(message.message_id) ?? message);
}

async function endOf(run: Run, { added, readState }: Ending, status: Outcome['status']): Promise<InvokeResult> {
  const outcome = {
    status,
    iterations: run.end?.iterations ?? 0,
    recursionLimitReached: run.end?.recursionLimitReached ?? false,
    added: keepNewest(added, nothingAdded),
    interrupts: interruptsOf(run),
    state: await readState(),
    usage: fromUsageJson(run.usageJson),
  } as const;
  return toInvokeResult(run, outcome, run.updatedAt);
}

function interruptsOf({ end }: Run): Interrupt[] {
  try {
    return JSON.parse(end?.interruptsJson ?? '[]') as Interrupt[];
  } catch {
    return [];
  }
}

const noState: EngineState = { values: { context_summary: '' }, context: [] };

/** Errors after which another attempt may find the state. */
const passing: readonly ErrorCode[] = ['Unavailable', 'Timeout', 'Cancelled'];

/**
 * The state that the run left; the thread's present state when that version is no longer kept. None when state or agent are gone or cannot be
 * read: the end is published in any case, and a follower can read the state by itself.
 */
async function stateOf({ threads, known }: Pick<EndParts, 'threads' | 'known'>, run: Run): Promise<EngineState> {
  if (!shownAt[run.granularity].state && run.status !== 'interrupted') return noState;
  try {
    const agent = await known.find(run.agent, { revision: run.revision });
    return agent ? fromState(agent, await keptState(threads, run)).state : noState;
  } catch (error) {
    if (isServiceError(error) && passing.includes(error.code) && !isUnreadableDefinition(error)) throw error;
    return noState;
  }
}

/** How many checkpoints back the run's last one is searched. */
const checkpointsSearched = 100;

async function keptState(threads: StateCalls & HistoryCalls, { owner, threadId, runId }: Run): Promise<State> {
  const key = { owner, threadId };
  const call = within(callTimeoutMs);
  const { checkpoints } = await threads.listCheckpoints({ ...key, limit: checkpointsSearched, offset: 0 }, call);
  const left = checkpoints.find((checkpoint) => checkpoint.runId === runId);
  // The checkpoint may be dropped meanwhile.
  const kept =
    left && (await undefinedIfNotFound(threads.getCheckpoint({ ...key, checkpointId: left.checkpointId }, call)));
  return kept?.state ?? threads.getState(key, call);
}
