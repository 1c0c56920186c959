import { isServiceError } from '@agent-workflow/kit/errors';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { ClaimedRun, RunReadCalls } from '@agent-workflow/protos/threads';
import { listSteps } from '../record/committed-step.ts';
import { numbersOfClaim } from '../ports/log-numbers.ts';
import type { RunLog } from '../ports/log.ts';
import { EventWriter, missingStepEvents } from './event-writer.ts';
import { readPublished, type PublishedEvents } from './published.ts';

interface OpenLogOptions {
  readonly owner: string;
  readonly claimed: ClaimedRun;
  readonly threads: RunReadCalls;
  readonly eventLog: RunLog;
  /** The clock of the run. */
  readonly now: () => number;
}

/**
 * Begins the log of a claimed run, or continues it at a takeover. A takeover first publishes what the dead worker committed and
 * did not publish, and the beginning of its own first nodes. With that append the log belongs to this worker: later appends of
 * the other one are Stale. `nodes` are those that the run begins or continues with; none where it cannot begin.
 */
export async function openLog(options: OpenLogOptions, nodes: readonly string[]): Promise<EventWriter> {
  const { claimed, eventLog, now } = options;
  if (claimed.isTakeover || claimed.attempt > 1) return takeOverLog(options, nodes);
  const events = new EventWriter(claimed, 0, now);
  const list = [...firstEvents(events, claimed, undefined, { at: now() }), ...startedEvents(events, claimed, nodes)];
  // A log that cannot be written does not delay the run: the append of its last event is awaited and reported.
  eventLog.append(events.scope, 0, list, unawaited).catch(ignore);
  return events;
}

const unawaited = { isAwaited: false } as const;
const ignore = (): void => undefined;

/** How often a log is read again because the worker before appended to it meanwhile. */
const takeoverAttempts = 5;

async function takeOverLog(options: OpenLogOptions, nodes: readonly string[]): Promise<EventWriter> {
  const { owner, claimed, threads, eventLog, now } = options;
  const { runId, granularity, step } = claimed;
  for (let attempt = 1; ; attempt++) {
    const read = await readLog(eventLog, runId);
    // A log that cannot be read does not delay the run either. No append succeeds after a number that the log does not reach.
    if (!read) return new EventWriter(claimed, unreachable, now);
    const { published, after } = read;
    // An empty log may be a lost one, whose events a follower has seen.
    const isGone = after === 0;
    const first = isGone ? numbersOfClaim(claimed.epoch) : after;
    const steps = step === 0 ? [] : await listSteps(threads, { owner, runId, fromStep: published.lastStep() ?? 0 });
    const ended = new Set(steps.flatMap(({ messages }) => messages.map(({ message_id: id }) => id)));
    const events = new EventWriter(claimed, first, now, published.step(step, ended));
    const gone = isGone ? ({ rebuilt: true } as const) : {};
    const missing = [
      ...firstEvents(events, claimed, published, { ...gone, at: now() }),
      ...missingStepEvents(events, granularity, steps, published),
    ];
    try {
      await eventLog.append(events.scope, after, [...missing, ...startedEvents(events, claimed, nodes)]);
      return events;
    } catch (error) {
      if (!isServiceError(error, 'Stale') || attempt === takeoverAttempts) return events;
    }
  }
}

const unreachable = 2 ** 40;

/** What the log holds, and its last number; `undefined` when it cannot be read. */
async function readLog(
  eventLog: RunLog,
  runId: string,
): Promise<{ readonly published: PublishedEvents; readonly after: number } | undefined> {
  try {
    const after = await eventLog.last(runId);
    return { published: await readPublished(eventLog, runId, after), after };
  } catch {
    return undefined;
  }
}

/** The two events that every log begins with, without those that are published. */
export function firstEvents(
  events: EventWriter,
  { requestId, threadId, runId, isNewThread }: RunScope,
  published: Pick<PublishedEvents, 'has'> | undefined,
  { at, ...extra }: { readonly at: number; readonly rebuilt?: true },
): RunEvent[] {
  const data = { request_id: requestId, thread_id: threadId, run_id: runId, is_new_thread: isNewThread, ...extra };
  return [
    ...(published?.has('metadata') ? [] : [events.write('metadata', data, {}, { at })]),
    ...(published?.has('on_chain_start') ? [] : [events.write('on_chain_start', {}, {}, { at })]),
  ];
}

/**
 * The beginning of the first step. At a takeover that step runs again, and what the claim before it streamed of it is dropped; `takeover`
 * is absent from a node's retry. A step that begins after a sleep is none of these.
 */
function startedEvents(
  events: EventWriter,
  { step, isTakeover, attempt, wakeAt }: ClaimedRun,
  nodes: readonly string[],
): RunEvent[] {
  const status =
    isTakeover && wakeAt === undefined ? { status: 'restarted', attempt, takeover: true } : { status: 'started' };
  return nodes.map((node) => events.write('on_chain_stream', { node, step, ...status }, { node, step }));
}
