import type { Checkpoint } from '@agent-workflow/client';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { recordedSteps, type RecordedStep } from './log/recorded-steps.ts';

/** The record is read so far back at most: so many pages of so many checkpoints. */
const maxPages = 3;
const pageSize = 1000;

/** What a run's record says of its steps. */
export interface RunRecord {
  readonly steps: ReadonlyMap<number, RecordedStep>;
  readonly error?: unknown;
}

/** The steps on record of a run, as far as its thread's checkpoints are kept; nothing is read without a thread. */
export function useRecord(threadId: string | undefined, runId: string): RunRecord {
  const { state } = useLoaded(
    async (signal) => (threadId === undefined ? new Map<number, RecordedStep>() : readSteps(threadId, runId, signal)),
    [threadId, runId],
  );
  const { value, error } = state.value;
  return { steps: value ?? new Map(), ...(error !== undefined && { error }) };
}

/** Newest first: what comes after the run's own checkpoints is older than the run. */
async function readSteps(
  threadId: string,
  runId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, RecordedStep>> {
  const own: Checkpoint[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const read = await client.threads.checkpoints(
      threadId,
      { limit: pageSize, ...(cursor !== undefined && { cursor }) },
      { signal },
    );
    const found = read.checkpoints.filter(({ run_id: id }) => id === runId);
    own.push(...found);
    ({ cursor } = read);
    if (cursor === undefined || (own.length > 0 && read.checkpoints.at(-1)?.run_id !== runId)) break;
  }
  return recordedSteps(own, runId);
}
