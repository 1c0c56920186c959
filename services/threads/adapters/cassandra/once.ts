import { isServiceError } from '@agent-workflow/kit/errors';
import type { OnceBeginning, OnceRecord, ThreadStore } from '../../ports/port.ts';
import { pause } from './change.ts';
import type { Row, Session } from './client.ts';
import { long, toBlob, toReply } from './rows.ts';

export interface OnceOptions {
  readonly session: Session;
  readonly newStamp: () => string;
  readonly deadlineMs: number;
}

/** So long a request is known by its key, in seconds: a little longer than it has to be, and its reply not quite as long. */
const keptSeconds = 25 * 3600;
const replyKeptSeconds = 24 * 3600;

/** In place of an attempt: the request that had the key has left it. */
const left = '00000000-0000-0000-0000-000000000000';

const columns = 'owner, key, attempt, body_hash, at, reply';
const putOnce = `INSERT INTO once (${columns}) VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS USING TTL ${keptSeconds}`;
const putReply = `UPDATE once USING TTL ${replyKeptSeconds} SET reply = ? WHERE owner = ? AND key = ? IF EXISTS`;
const ofKey = 'WHERE owner = ? AND key = ?';
const leave = `UPDATE once USING TTL ${keptSeconds} SET attempt = ${left} ${ofKey} IF reply = ?`;
const take = `UPDATE once USING TTL ${keptSeconds} SET attempt = ?, body_hash = ?, at = ?, reply = ? ${ofKey} IF attempt = ${left}`;

/** Requests that are to be done once; the server forgets them. */
export function createOnce(options: OnceOptions): Pick<ThreadStore, 'beginOnce' | 'endOnce' | 'expireOnce'> {
  const { session, newStamp } = options;

  /** What stands under the key; `undefined` when it stands there for this very attempt. */
  const begin = async (owner: string, key: string, record: Beginning): Promise<OnceRecord | undefined> => {
    const { attempt, bodyHash, at, reply } = record;
    const rest = [bodyHash, long(at), toBlob(reply)];
    const { known } = await session.writeIf({ cql: putOnce, params: [owner, key, attempt, ...rest] });
    if (!known || String(known['attempt']) === attempt) return undefined;
    if (String(known['attempt']) !== left || known['body_hash'] !== bodyHash) return toRecord(known);
    const { known: other } = await session.writeIf({ cql: take, params: [attempt, ...rest, owner, key] });
    if (!other || String(other['attempt']) === attempt) return undefined;
    return toRecord({ ...known, reply: undefined });
  };

  return {
    beginOnce: (owner, key, record) => {
      // One whose answer was lost finds itself when it is made again.
      const attempt = record.attempt !== undefined && uuid.test(record.attempt) ? record.attempt : newStamp();
      return again(options, () => begin(owner, key, { ...record, attempt: attempt.toLowerCase() }));
    },
    endOnce: (owner, key, reply) =>
      again(options, async () => {
        const statement = reply
          ? { cql: putReply, params: [toBlob(reply), owner, key] }
          : { cql: leave, params: [owner, key, toBlob(undefined)] };
        await session.writeIf(statement);
      }),
    expireOnce: () => Promise.resolve(),
  };
}

type Beginning = OnceBeginning & { readonly attempt: string };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Rows of before have no time. */
const toRecord = (row: Row): OnceRecord => ({
  bodyHash: row['body_hash'] as string,
  at: Number(row['at'] ?? 0),
  ...toReply(row),
});

/** Each write comes out the same when it is made twice. */
async function again<T>({ deadlineMs }: OnceOptions, work: () => Promise<T>): Promise<T> {
  const until = Date.now() + deadlineMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isServiceError(error, 'Unavailable')) throw error;
      await pause(tries, until);
    }
  }
}
