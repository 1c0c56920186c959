import { RequestError } from '@agent-workflow/client';
import { client } from '../../../session/session.ts';
import { writtenOf } from '../../../session/written.ts';
import type { PastFields, StepRecord } from './step-record.ts';

/** What is read of steps; what is committed is read once. */
export interface StepRecords {
  readonly read: (step: number, signal: AbortSignal) => Promise<StepRecord>;
}

/** The checkpoints of a thread are looked through so far for the one at which a run began: so many pages of so many. */
const maxPages = 5;
const pageSize = 200;

/** `isOnRecord` says whether the state after a step can be read: a request for one that is not there would only fail. */
export function createStepRecords(runId: string, threadId: string, isOnRecord: (step: number) => boolean): StepRecords {
  const known = new Map<number, StepRecord>();
  const pastOf = async (step: number, signal: AbortSignal) =>
    isOnRecord(step) ? absentAsNone(client.runs.step(runId, step, { signal })) : undefined;
  const inputOf = async (signal: AbortSignal): Promise<string | undefined> => {
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const { checkpoints, ...rest } = await client.threads.checkpoints(
        threadId,
        { limit: pageSize, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      const input = checkpoints.find(({ run_id: run, source }) => run === runId && source === 'input');
      if (input) return input.checkpoint_id;
      ({ cursor } = rest);
      if (cursor === undefined) return undefined;
    }
    return undefined;
  };
  const read = async (number: number, signal: AbortSignal): Promise<StepRecord> => {
    const before = known.get(number);
    if (before) return before;
    const [past, earlier] = await Promise.all([pastOf(number, signal), pastOf(number - 1, signal)]);
    let state = earlier && fieldsOf(earlier, earlier);
    let beforeId = earlier?.step.checkpoint_id;
    if (number === 0) {
      beforeId = await inputOf(signal);
      const input =
        beforeId === undefined
          ? undefined
          : await absentAsNone(client.threads.checkpoint(threadId, beforeId, { signal }));
      state = input && fieldsOf(input, input);
    }
    const record: StepRecord = {
      ...(past && { step: past.step, after: fieldsOf(past, past) }),
      ...(state && { before: state }),
      ...(beforeId !== undefined && { beforeId }),
    };
    if (past) known.set(number, record);
    return record;
  };
  return { read };
}

interface Past {
  readonly state: Readonly<Record<string, unknown>>;
  readonly context_truncated?: boolean;
}

const fieldsOf = ({ state, context_truncated: isTruncated = false }: Past, reply: object): PastFields => ({
  ...{ fields: state, isTruncated },
  ...{ text: writtenOf(reply), at: ['data', 'state'] },
});

/** What is no longer kept is not there. */
async function absentAsNone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return undefined;
    throw error;
  }
}
