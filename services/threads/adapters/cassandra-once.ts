import { isServiceError } from '@agent-workflow/kit/errors';
import type { ThreadStore } from '../port.ts';
import { pause } from './cassandra-change.ts';
import type { Session } from './cassandra-client.ts';
import { toBlob, toReply } from './cassandra-rows.ts';

export interface OnceOptions {
  readonly session: Session;
  readonly newStamp: () => string;
  readonly deadlineMs: number;
}

/** So long a request is known by its key, in seconds: a little longer than it has to be, and its reply not quite as long. */
const keptSeconds = 25 * 3600;
const replyKeptSeconds = 24 * 3600;

const putOnce = `INSERT INTO once (owner, key, attempt, body_hash) VALUES (?, ?, ?, ?) IF NOT EXISTS USING TTL ${keptSeconds}`;
const putReply = `UPDATE once USING TTL ${replyKeptSeconds} SET reply = ? WHERE owner = ? AND key = ? IF EXISTS`;

/** Requests that are to be done once; the server forgets them. */
export function createOnce(options: OnceOptions): Pick<ThreadStore, 'beginOnce' | 'endOnce' | 'expireOnce'> {
  const { session, newStamp } = options;
  return {
    beginOnce: (owner, key, { bodyHash }) => {
      const attempt = newStamp();
      return again(options, async () => {
        const { known } = await session.writeIf({ cql: putOnce, params: [owner, key, attempt, bodyHash] });
        // One whose answer was lost finds itself when it is made again.
        if (!known || String(known['attempt']) === attempt) return undefined;
        return { bodyHash: known['body_hash'] as string, ...toReply(known) };
      });
    },
    endOnce: (owner, key, reply) =>
      again(options, async () => {
        await session.writeIf({ cql: putReply, params: [toBlob(reply), owner, key] });
      }),
    expireOnce: () => Promise.resolve(),
  };
}

/** Both writes come out the same when they are made twice. */
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
