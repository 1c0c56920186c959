import { isServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { Run, Threads } from '@agent-workflow/protos/threads';
import type { CompiledGraph } from './engine/graph.ts';
import type { Interrupt } from './engine/interrupt.ts';
import type { EngineState } from './engine/state.ts';
import { createEventWriter, type EventWriter } from './events.ts';
import { fromState } from './hot-threads.ts';
import { fromJson } from './options.ts';
import { toInvokeResult } from './outcome.ts';
import type { RunLog } from './port.ts';
import { nothingTold, readTold, untold } from './told.ts';

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
 * longer kept. Whole messages that the log does not have yet come first. Does nothing when the end is said already.
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
  for (;;) {
    if (await log.isEnded(run.runId)) return;
    const after = await log.last(run.runId);
    const events = createEventWriter(run, after);
    const list = await missingEvents(parts, run, events, after);
    try {
      await log.append(run.runId, after, list);
      return;
    } catch (error) {
      // An event of the worker came in between, perhaps the last one.
      if (!isServiceError(error, 'Stale')) throw error;
    }
  }
}

async function missingEvents(parts: EndParts, run: Run, events: EventWriter, after: number): Promise<RunEvent[]> {
  const at = run.updatedAt;
  const opening =
    after === 0
      ? [events.write('metadata', metadataOf(run), {}, { at }), events.write('on_chain_start', {}, {}, { at })]
      : [];
  const output = await outputOf(parts.threads, run);
  const told = await readTold(parts.log, run.runId, after);
  const whole = untold(output, told).flatMap((message) =>
    events.message(message, {}, at, told.get(message.message_id) ?? nothingTold),
  );
  if (run.status === 'failed')
    return [...opening, ...whole, events.write('error', run.end?.error ?? unknownError, {}, { at })];
  return [...opening, ...whole, events.write('on_chain_end', await endOf(parts, run, output), {}, { at })];
}

const unknownError = { code: 'INTERNAL_ERROR', message: 'the run failed' };

/** `rebuilt` says that the numbers are this log's own: pieces and changes of state are not in it. */
const metadataOf = ({ requestId, threadId, runId, isNewThread }: Run): Record<string, unknown> => ({
  request_id: requestId,
  thread_id: threadId,
  run_id: runId,
  is_new_thread: isNewThread,
  rebuilt: true,
});

/** What the run added; nothing when its thread is gone. */
async function outputOf(threads: Threads, { owner, runId }: Run): Promise<readonly Message[]> {
  try {
    const { messagesJson } = await threads.listRunMessages({ owner, runId }, within(callTimeoutMs));
    return fromJson(messagesJson) as Message[];
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return [];
    throw error;
  }
}

async function endOf(
  { threads, graph }: EndParts,
  run: Run,
  added: readonly Message[],
): Promise<Record<string, unknown>> {
  const outcome = {
    status: run.status === 'completed' || run.status === 'interrupted' ? run.status : 'stopped',
    iterations: run.end?.iterations ?? 0,
    recursionLimitReached: run.end?.recursionLimitReached ?? false,
    added,
    interrupts: JSON.parse(run.end?.interruptsJson ?? '[]') as Interrupt[],
    state: await stateOf(threads, graph, run),
  } as const;
  return toInvokeResult(run, outcome, run.updatedAt);
}

const noState: EngineState = { values: { context_summary: '' }, context: [] };

/** The state as it is now: the one that the run left is not kept. */
async function stateOf(threads: Threads, graph: CompiledGraph | undefined, run: Run): Promise<EngineState> {
  if (!graph) return noState;
  try {
    const { owner, threadId } = run;
    return fromState(graph, await threads.getState({ owner, threadId }, within(callTimeoutMs))).state;
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return noState;
    throw error;
  }
}
