import type { ThreadHistory } from '../../ports/history.ts';
import type { ThreadLists } from '../../ports/lists.ts';
import { logBounds } from '../../record/log-bounds.ts';
import { checkpointBytes, messageBytes, runBytes, threadBytes, undoBytes } from '../../record/row-sizes.ts';
import {
  checkpointColumns,
  headOfRunColumns,
  ownRunColumns,
  runColumns,
  take,
  toCheckpointRow,
  toLogEntry,
  toOwnRunsPart,
  toRunRow,
  type Row,
} from '../../record/sql-rows.ts';
import type { Session } from './client.ts';
import type { Param } from './values.ts';
import { pageOf, undoPage } from './pages.ts';
import { threadColumns, toThreadRow, toUndoRow } from './rows.ts';
import { ofThread } from './snapshot.ts';

/** Pages of lists. Sizes that a statement computes are at most those of `record/row-sizes.ts`, which end the page. */
export function createLists({ query }: Session): ThreadLists & ThreadHistory {
  const read = (page: ReturnType<typeof pageOf>, params: readonly Param[]): Promise<readonly Row[]> =>
    query(page.sql, [...params, ...page.params]);
  return {
    listThreads: async (owner, { after, ...limits }) => {
      const mark = after ? [after.updatedAt, after.threadId] : [Number.MAX_SAFE_INTEGER, ''];
      const page = pageOf({
        columns: threadColumns,
        size: '512 + octet_length(thread_id) + coalesce(octet_length(metadata), 0)',
        from: 'FROM threads AS x WHERE x.owner = $1 AND NOT x.deleting AND (x.updated_at, x.thread_id) < ($2, $3)',
        order: 'x.updated_at DESC, x.thread_id DESC',
        firstParam: 4,
        ...limits,
      });
      return take(await read(page, [owner, ...mark]), toThreadRow, threadBytes, limits.bytes);
    },

    listRuns: async ({ owner, threadId }, { after, ...limits }) => {
      const mark = after ? [after.createdAt, after.runId] : [Number.MAX_SAFE_INTEGER, ''];
      const page = pageOf({
        columns: runColumns,
        size: '512 + octet_length(run_id) + coalesce(octet_length("end"), 0)',
        from: `${ofThread('runs')} AND (x.created_at, x.run_id) < ($3, $4)`,
        order: 'x.created_at DESC, x.run_id DESC',
        firstParam: 5,
        ...limits,
      });
      return take(await read(page, [owner, threadId, ...mark]), toRunRow, runBytes, limits.bytes);
    },

    listOwnRuns: async (owner, { after, agent, ...limits }) => {
      const mark = after ? [after.createdAt, after.runId] : [Number.MAX_SAFE_INTEGER, ''];
      const agentParams = agent === undefined ? [] : [agent];
      const page = pageOf({
        columns: ownRunColumns,
        size: '512 + octet_length(run_id) + coalesce(octet_length("end"), 0)',
        from: `FROM (
          SELECT * FROM runs JOIN (SELECT ${headOfRunColumns} FROM threads) AS head ON head.thread_ref = runs.ref
          WHERE owner = $1 AND (created_at, run_id) < ($2, $3) ${agent === undefined ? '' : 'AND of_agent = $4'}) AS x`,
        order: 'x.created_at DESC, x.run_id DESC',
        firstParam: 4 + agentParams.length,
        ...limits,
      });
      return toOwnRunsPart(await read(page, [owner, ...mark, ...agentParams]), limits);
    },

    listMessages: async ({ owner, threadId }, asked) => {
      const { limit, offset, bytes, newestFirst } = asked;
      const { above, below } = logBounds(asked);
      const page = pageOf({
        columns: 'position, message_id, json, version',
        size: 'octet_length(json) + 1',
        from: `${ofThread('messages')} AND x.position > $3 AND x.position < $4`,
        order: newestFirst ? 'x.position DESC' : 'x.position',
        firstParam: 5,
        ...{ limit, offset, bytes },
      });
      return take(await read(page, [owner, threadId, above, below]), toLogEntry, messageBytes, bytes);
    },

    listCheckpoints: async ({ owner, threadId }, { below = Number.MAX_SAFE_INTEGER, ...limits }) => {
      const page = pageOf({
        columns: checkpointColumns,
        size: '512 + octet_length(nodes) + octet_length(next) + coalesce(octet_length(metadata), 0)',
        from: `${ofThread('checkpoints')} AND x.version < $3`,
        order: 'x.version DESC',
        firstParam: 4,
        ...limits,
      });
      return take(await read(page, [owner, threadId, below]), toCheckpointRow, checkpointBytes, limits.bytes);
    },

    listUndos: async ({ owner, threadId }, { below = Number.MAX_SAFE_INTEGER, ...range }) => {
      const [thread] = await query('SELECT ref FROM threads WHERE owner = $1 AND thread_id = $2', [owner, threadId]);
      if (!thread) return [];
      const page = undoPage({ below, ...range });
      return take(await read(page, [thread['ref'] as number]), toUndoRow, undoBytes, range.bytes);
    },
  };
}
