import type { ThreadKey } from '../../ports/record.ts';
import { pauseBetweenTries } from './change/change.ts';
import { createWatch, readHead } from './change/snapshot.ts';
import type { Session } from './client/client.ts';
import type { Log } from './rows/log.ts';
import type { Layout, Seen } from './rows/rows.ts';

export interface ReadByOptions {
  readonly session: Session;
  readonly deadlineMs: number;
}

/** Which head the rows belong to, and how it places them. */
export type Found = Pick<Seen, 'stamp' | 'layout'>;

interface ReadBy<T> {
  readonly first?: () => Promise<Found>;
  readonly read: (log: Log) => Promise<T>;
  readonly isAlike: (layout: Layout, now: Layout | undefined) => boolean;
}

type ReadByLayout = <T>(key: ThreadKey, by: ReadBy<T>) => Promise<T | undefined>;

/**
 * Reads by the layout of a head. Rows of the thread's partition carry the stamp of their head; when that does not
 * decide, the head is read again, and when it has changed in a way that matters, all is read again.
 */
export const createReadBy =
  ({ session, deadlineMs }: ReadByOptions): ReadByLayout =>
  async <T>(
    key: ThreadKey,
    { isAlike, read, first = () => readHead(session, key) }: ReadBy<T>,
  ): Promise<T | undefined> => {
    const until = Date.now() + deadlineMs;
    for (let tries = 1; ; tries += 1) {
      const { layout, stamp } = await first();
      if (!layout) return undefined;
      const watch = createWatch(stamp);
      const result = await read({ key, layout, saw: watch.saw });
      if (watch.isSteady() && watch.hasSeen()) return result;
      if (isAlike(layout, (await readHead(session, key)).layout)) return result;
      await pauseBetweenTries(tries, until);
    }
  };
