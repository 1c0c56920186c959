import type { ThreadKey } from '../../ports/record.ts';
import { pauseBetweenTries, tryBatch } from './change/change.ts';
import type { Session } from './client/client.ts';
import { mapConcurrently } from './rows/log.ts';
import type { OwnRuns } from './lists/own-runs.ts';
import type { Recency } from './lists/recency.ts';
import { long, type Layout } from './rows/rows.ts';
import type { Runs } from './runs.ts';
import { kinds } from './rows/schema.ts';
import { readHead } from './change/snapshot.ts';

interface PurgeOptions {
  readonly session: Session;
  readonly runs: Runs;
  readonly ownRuns: OwnRuns;
  readonly recency: Recency;
  readonly tick: () => number;
  readonly deadlineMs: number;
  /** Runs work in the background. */
  readonly aside: (work: () => Promise<void>) => void;
}

const dropHead = `DELETE FROM thread WHERE owner = ? AND thread_id = ? AND kind = ${kinds.head} AND n = 0 AND id = '' IF stamp = ?`;
const dropRows = `DELETE FROM thread WHERE owner = ? AND thread_id = ? AND kind > ${kinds.head}`;
const dropStatics = 'DELETE at, rolled_to FROM thread WHERE owner = ? AND thread_id = ?';
const dropSegment = 'DELETE FROM segment WHERE owner = ? AND thread_id = ? AND life = ? AND segment = ?';

/**
 * Removes the rows of other tables first and the thread's own last: interrupted anywhere, the thread is still marked deleting and
 * is purged again. The thread's rows are deleted on condition of its stamp, so that one made again meanwhile stays.
 */
export async function purge(
  { session, runs, ownRuns, recency, tick, deadlineMs, aside }: PurgeOptions,
  key: ThreadKey,
): Promise<void> {
  const until = Date.now() + deadlineMs;
  const params = [key.owner, key.threadId];
  for (let tries = 1; ; tries += 1) {
    const time = tick();
    const { head, layout, stamp } = await readHead(session, key, true);
    if (!head?.deleting || !layout) return;
    const { agent } = head;
    const forgotten = await runs.forget(key, agent, time);
    await dropSegments(session, key, layout);
    await recency.drop(key, { ...layout, listedAt: Math.max(layout.listedAt + 1, time) });
    const outcome = await tryBatch(session, [
      { cql: dropHead, params: [...params, stamp] },
      { cql: dropRows, params },
      { cql: dropStatics, params },
    ]);
    if (outcome === 'applied') {
      aside(() => ownRuns.prune({ owner: key.owner, agent }, forgotten));
      return;
    }
    await pauseBetweenTries(tries, until);
  }
}

/** Removes what a thread has, or may have, in segments. */
export async function dropSegments(session: Session, { owner, threadId }: ThreadKey, layout: Layout): Promise<void> {
  const segments = Array.from({ length: Math.ceil(layout.top / layout.width) }, (_, segment) => segment);
  await mapConcurrently(segments, (segment) =>
    session.write({ cql: dropSegment, params: [owner, threadId, layout.life, long(segment)] }),
  );
}
