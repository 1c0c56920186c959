import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../../ports/idempotency.ts';
import { optional, type Row } from '../../record/sql-rows.ts';
import type { Session } from './client.ts';
import type { Transaction } from './transaction.ts';
import { hashOf } from './rows.ts';

/** The records of idempotent requests. */
export const createIdempotency = ({ query, transaction }: Session): IdempotencyRecords => ({
  beginRequest: (owner, key, record) =>
    transaction(async (tx) => {
      const isFirst = (await insert(tx, owner, key, record)) > 0;
      const known = isFirst ? undefined : await retake(tx, owner, key, record);
      return { isWritten: known === undefined, reply: known };
    }),

  endRequest: async (owner, key, reply) => {
    if (reply) {
      await query('UPDATE idempotency SET reply = $3 WHERE owner = $1 AND key_hash = $2', [owner, hashOf(key), reply]);
    } else {
      await query('UPDATE idempotency SET is_released = true WHERE owner = $1 AND key_hash = $2 AND reply IS NULL', [
        owner,
        hashOf(key),
      ]);
    }
  },

  // Several replicas do this at once: each takes rows that no other has locked.
  expireRequests: async (time, limit) => {
    await query(
      `DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM idempotency WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))`,
      [time, limit],
    );
  },
});

const insert = (
  { write }: Transaction,
  owner: string,
  key: string,
  { bodyHash, at, attempt, reply }: NewIdempotencyRecord,
): Promise<number> =>
  write(
    `INSERT INTO idempotency (owner, key_hash, body_hash, at, attempt, reply) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (owner, key_hash) DO NOTHING`,
    [owner, hashOf(key), bodyHash, at, attempt ?? null, reply ?? null],
  );

/** Takes a key that was released. @returns the record that stands under it; `undefined` when the request is the first, or itself. */
async function retake(
  tx: Transaction,
  owner: string,
  key: string,
  record: NewIdempotencyRecord,
): Promise<IdempotencyRecord | undefined> {
  const { bodyHash, at, attempt, reply } = record;
  const place = [owner, hashOf(key)];
  const [row] = await tx.query('SELECT * FROM idempotency WHERE owner = $1 AND key_hash = $2 FOR UPDATE', place);
  if (!row) {
    // It expired since it was found: the key is new.
    await insert(tx, owner, key, record);
    return undefined;
  }
  if (attempt !== undefined && row['attempt'] === attempt) return undefined;
  if (row['is_released'] !== true || row['body_hash'] !== bodyHash) return toRecord(row);
  await tx.write(
    `UPDATE idempotency SET is_released = false, attempt = $3, reply = $4, at = $5 WHERE owner = $1 AND key_hash = $2`,
    [...place, attempt ?? null, reply ?? null, at],
  );
  return undefined;
}

const toRecord = (row: Row): IdempotencyRecord => ({
  bodyHash: row['body_hash'] as string,
  at: row['at'] as number,
  ...optional('reply', row['reply'] as Uint8Array | null),
});
