import { invalid } from '@agent-workflow/kit/errors';
import type { IdempotencyCalls } from '@agent-workflow/protos/threads';
import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../ports/idempotency.ts';

/** How long a request is remembered by its key, in milliseconds. */
const keptMs = 24 * 60 * 60 * 1000;
/** Each new key removes up to so many that are too old. */
const expiredAtOnce = 10;

interface Beginning {
  readonly owner: string;
  readonly key: string;
  readonly record: NewIdempotencyRecord;
}

/** Puts a request on record, or finds the record under its key; removes records that are too old. */
export async function beginOrFind(
  store: IdempotencyRecords,
  { owner, key, record }: Beginning,
): Promise<IdempotencyRecord | undefined> {
  // Sent together, in this order: a store that groups its writes makes them one.
  const [, known] = await Promise.all([
    store.expireRequests(record.at - keptMs, expiredAtOnce),
    store.beginRequest(owner, key, record),
  ]);
  return known;
}

export const createIdempotencyCalls = (store: IdempotencyRecords, now: () => number): IdempotencyCalls => ({
  beginOnce: async ({ owner, onceKey: key, bodyHash, attemptId: attempt, replyJson: reply }) => {
    const at = now();
    const record = { bodyHash, at, ...(attempt === undefined ? {} : { attempt }), ...(reply ? { reply } : {}) };
    const known = await beginOrFind(store, { owner, key, record });
    if (!known) return { isNew: true, at };
    if (known.bodyHash !== bodyHash) throw invalid(['idempotencyKey'], 'was used with another body', 'idempotency_key');
    return { isNew: false, at: known.at, ...(known.reply === undefined ? {} : { replyJson: known.reply }) };
  },

  endOnce: async ({ owner, onceKey, replyJson }) => {
    await store.endRequest(owner, onceKey, replyJson);
    return {};
  },
});
