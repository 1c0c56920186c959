import { createQuota } from '@agent-workflow/kit/pages';
import type { ThreadHistory } from '../../ports/history.ts';
import type { ThreadKey } from '../../ports/record.ts';
import { checkpointBytes, undoBytes } from '../../record/row-sizes.ts';
import type { Row, Session } from './client/client.ts';
import { pagesOf } from './rows/log.ts';
import { long, toCheckpoint, toUndo } from './rows/rows.ts';
import { kinds } from './rows/schema.ts';

const ofCheckpoints = `owner = ? AND thread_id = ? AND kind = ${kinds.checkpoint}`;
const newestFirst = 'ORDER BY kind DESC, n DESC, id DESC LIMIT ?';
const selectCheckpoints = `SELECT n, checkpoint, metadata FROM thread WHERE ${ofCheckpoints} AND n < ? ${newestFirst}`;
const selectVersions = `SELECT n FROM thread WHERE ${ofCheckpoints} AND n < ? ${newestFirst}`;
const selectUndos = `SELECT n, undo FROM thread WHERE ${ofCheckpoints} AND n > ? AND n < ? ${newestFirst}`;

/** Rows read at once that may have the largest metadata, and undos, each as large as what one step changed. */
const metadataAtOnce = 64;
const undosAtOnce = 4;

/** The checkpoints of a thread are in its partition. A page of them needs no head. */
export const createHistory = (session: Session): ThreadHistory => ({
  listCheckpoints: async (key, { limit, offset = 0, below = Number.MAX_SAFE_INTEGER, bytes }) => {
    const start = offset === 0 ? below : await skipCheckpoints(session, key, below, offset);
    const params = [key.owner, key.threadId, long(start), limit];
    const pages = pagesOf(session, { cql: selectCheckpoints, params }, { most: metadataAtOnce });
    return take(pages, toCheckpoint, checkpointBytes, bytes);
  },

  listUndos: async ({ owner, threadId }, { above, below = Number.MAX_SAFE_INTEGER, limit, bytes }) => {
    const params = [owner, threadId, long(above), long(below), limit];
    return take(pagesOf(session, { cql: selectUndos, params }, { most: undosAtOnce }), toUndo, undoBytes, bytes);
  },
});

/** The version below which the list continues after `count` others; 0 when there are no more. */
async function skipCheckpoints(
  session: Session,
  { owner, threadId }: ThreadKey,
  below: number,
  count: number,
): Promise<number> {
  let left = count;
  const statement = { cql: selectVersions, params: [owner, threadId, long(below), count] };
  for await (const rows of pagesOf(session, statement)) {
    const last = rows[left - 1];
    if (last) return Number(last['n']);
    left -= rows.length;
  }
  return 0;
}

/** The items of a list that is read page by page, as far as it is to hold more than `bytes`. */
async function take<T>(
  pages: AsyncIterable<readonly Row[]>,
  toItem: (row: Row) => T,
  sizeOf: (item: T) => number,
  bytes: number | undefined,
): Promise<readonly T[]> {
  const items: T[] = [];
  const isEnough = createQuota(bytes);
  for await (const rows of pages) {
    for (const row of rows) {
      const item = toItem(row);
      items.push(item);
      if (isEnough(sizeOf(item))) return items;
    }
  }
  return items;
}
