import { isServiceError } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { IdempotencyRecord, IdempotencyRecords, NewIdempotencyRecord } from '../../ports/idempotency.ts';
import { betweenTries } from './change/change.ts';
import type { Row, Session } from './client/client.ts';
import { long, toBlob, toReply } from './rows/rows.ts';

interface IdempotencyOptions {
  readonly session: Session;
  readonly newStamp: () => string;
  readonly deadlineMs: number;
}

/** Seconds that a request and its reply are remembered: the request a little longer than it must be, so that no reply outlasts it. */
const keptSeconds = 25 * 3600;
const replyKeptSeconds = 24 * 3600;

/** In place of an attempt: the request that had the key has released it. */
const released = '00000000-0000-0000-0000-000000000000';

const columns = 'owner, key, attempt, body_hash, at, reply';
const putRecord = `INSERT INTO once (${columns}) VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS USING TTL ${keptSeconds}`;
const putReply = `UPDATE once USING TTL ${replyKeptSeconds} SET reply = ? WHERE owner = ? AND key = ? IF EXISTS`;
const ofKey = 'WHERE owner = ? AND key = ?';
const releaseKey = `UPDATE once USING TTL ${keptSeconds} SET attempt = ${released} ${ofKey} IF reply = ?`;
const take = `UPDATE once USING TTL ${keptSeconds} SET attempt = ?, body_hash = ?, at = ?, reply = ? ${ofKey} IF attempt = ${released}`;

/** Idempotent requests; the server forgets them by their TTL. */
export function createIdempotency(options: IdempotencyOptions): IdempotencyRecords {
  const { session, newStamp } = options;

  /** What stands under the key; `undefined` when it stands there for this very attempt. */
  const begin = async (owner: string, key: string, record: Beginning): Promise<IdempotencyRecord | undefined> => {
    const { attempt, bodyHash, at, reply } = record;
    const rest = [bodyHash, long(at), toBlob(reply)];
    const { known } = await session.writeIf({ cql: putRecord, params: [owner, key, attempt, ...rest] });
    if (!known || String(known['attempt']) === attempt) return undefined;
    if (String(known['attempt']) !== released || known['body_hash'] !== bodyHash) return toRecord(known);
    const { known: other } = await session.writeIf({ cql: take, params: [attempt, ...rest, owner, key] });
    if (!other || String(other['attempt']) === attempt) return undefined;
    return toRecord({ ...known, reply: undefined });
  };

  return {
    beginRequest: (owner, key, record) => {
      // A call whose answer was lost finds its own attempt when it is made again.
      const attempt = record.attempt !== undefined && uuid.test(record.attempt) ? record.attempt : newStamp();
      return again(options, () => begin(owner, key, { ...record, attempt: attempt.toLowerCase() }));
    },
    endRequest: (owner, key, reply) =>
      again(options, async () => {
        const statement = reply
          ? { cql: putReply, params: [toBlob(reply), owner, key] }
          : { cql: releaseKey, params: [owner, key, toBlob(undefined)] };
        await session.writeIf(statement);
      }),
    expireRequests: () => Promise.resolve(),
  };
}

type Beginning = NewIdempotencyRecord & { readonly attempt: string };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const toRecord = (row: Row): IdempotencyRecord => ({
  bodyHash: row['body_hash'] as string,
  at: Number(row['at']),
  ...toReply(row),
});

/** Each write comes out the same when it is made twice. */
const again = <T>({ deadlineMs }: IdempotencyOptions, work: () => Promise<T>): Promise<T> =>
  retry(work, {
    ...betweenTries,
    deadline: Date.now() + deadlineMs,
    mayHelp: (error) => isServiceError(error, 'Unavailable'),
  });
