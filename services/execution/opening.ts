import type { RunEvent } from '@agent-workflow/protos/execution';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import type { Message } from '@agent-workflow/protos/message';
import type { Carry } from './engine/carry.ts';
import { createEventWriter, type EventWriter } from './events.ts';
import { fromJson } from './options.ts';
import type { RunLog } from './port.ts';
import { nothingTold, readTold, untold } from './told.ts';

/** What an earlier claim of the run left behind. */
export interface Earlier {
  readonly added: readonly Message[];
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

export function earlierOf({ outputJson, progressJson, isTakeover, step }: ClaimedRun): Earlier {
  const kept: Kept = progressJson ? (fromJson(progressJson) as Kept) : { visits: {} };
  // Before its own first commit a run finds what the run before it kept: its iterations are not this one's.
  const visits = isTakeover && step > 0 ? kept.visits : {};
  return {
    added: outputJson ? (fromJson(outputJson) as Message[]) : [],
    visits: new Map(Object.entries(visits)),
    carry: kept.carry,
  };
}

/**
 * Goes on with the run's log, or begins it. Whole messages of committed steps that a dead worker did not get to tell come
 * first.
 */
export async function openEvents(
  log: RunLog,
  claimed: ClaimedRun,
  { added }: Earlier,
): Promise<{ readonly events: EventWriter; readonly opening: readonly RunEvent[] }> {
  const { runId, threadId, requestId, isNewThread, isTakeover } = claimed;
  const after = isTakeover ? await log.last(runId) : 0;
  const events = createEventWriter({ runId, threadId, requestId }, after);
  const opening: RunEvent[] = [];
  if (after === 0) {
    const data = { request_id: requestId, thread_id: threadId, run_id: runId, is_new_thread: isNewThread };
    opening.push(events.write('metadata', data), events.write('on_chain_start', {}));
  }
  if (added.length > 0) {
    const told = await readTold(log, runId, after);
    for (const message of untold(added, told)) {
      const before = told.get(message.message_id) ?? nothingTold;
      opening.push(...events.message(message, {}, Date.parse(message.timestamp), before));
    }
  }
  return { events, opening };
}
