import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../../ports/idempotency.ts';
import { optional } from '../../record/sql-rows.ts';

/** Requests that carry an idempotency key, a row each. */
export function createIdempotency(db: Sqlite): IdempotencyRecords {
  const { prepare } = db;
  return {
    beginRequest: (owner, key, record) => db.write(() => beginRequest(db, owner, key, record)),

    endRequest: (owner, key, reply) =>
      db.write(() => {
        if (reply) prepare('UPDATE once SET reply = ? WHERE owner = ? AND key = ?').run(reply, owner, key);
        else prepare('UPDATE once SET is_left = 1 WHERE owner = ? AND key = ? AND reply IS NULL').run(owner, key);
      }),

    expireRequests: (time, limit) =>
      db.write(() => {
        for (const { owner, key } of prepare('SELECT owner, key FROM once WHERE at < ? ORDER BY at LIMIT ?').all(
          time,
          limit,
        )) {
          prepare('DELETE FROM once WHERE owner = ? AND key = ?').run(owner as string, key as string);
        }
      }),
  };
}

function beginRequest(
  db: Sqlite,
  owner: string,
  key: string,
  record: NewIdempotencyRecord,
): IdempotencyRecord | undefined {
  const { bodyHash, at, attempt = null, reply = null } = record;
  const row = db
    .prepare('SELECT body_hash, reply, at, attempt, is_left FROM once WHERE owner = ? AND key = ?')
    .get(owner, key);
  if (!row) {
    db.prepare('INSERT INTO once (owner, key, body_hash, at, attempt, reply) VALUES (?, ?, ?, ?, ?, ?)').run(
      ...[owner, key, bodyHash, at, attempt, reply],
    );
    return undefined;
  }
  if (attempt !== null && row['attempt'] === attempt) return undefined;
  if (row['is_left'] === 1 && row['body_hash'] === bodyHash) {
    db.prepare('UPDATE once SET is_left = 0, attempt = ?, reply = ?, at = ? WHERE owner = ? AND key = ?').run(
      ...[attempt, reply, at, owner, key],
    );
    return undefined;
  }
  return {
    bodyHash: row['body_hash'] as string,
    at: row['at'] as number,
    ...optional('reply', row['reply'] as Uint8Array | null),
  };
}
