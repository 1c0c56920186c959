import type { ThreadReads } from '../../ports/reads.ts';
import type { LogEntry, ThreadKey } from '../../ports/record.ts';
import {
  toLogEntry,
  toRun,
  toStoredMessage,
  checkpointColumns,
  toTraceRow,
  headOfRunColumns,
  ownRunColumns,
  runColumns,
  take,
  toCheckpointRow,
  toAllRunsPart,
  toOwnRunsPart,
  toRunRow,
  type Row,
} from '../../record/sql-rows.ts';
import type { Session } from './client.ts';
import { hashOf, toFields, toHead, toPlacedEntry, threadColumns, toThreadRow, toUndoRow } from './rows.ts';
import { isInContext, ofThread, selectAllFields, selectFields } from './snapshot.ts';
import type { ThreadHistory } from '../../ports/history.ts';
import type { ThreadLists } from '../../ports/lists.ts';
import { logBounds } from '../../record/log-bounds.ts';
import { checkpointBytes, messageBytes, runBytes, threadBytes, traceBytes, undoBytes } from '../../record/row-sizes.ts';
import type { Param } from './values.ts';
import { pageOf, undoPage } from './pages.ts';

/** What is read of one thread. Each is one statement, so that it shows one moment. */
export function createReads({ query }: Session): ThreadReads {
  return {
    getHead: async (key) => {
      const [row] = await query('SELECT * FROM threads WHERE owner = $1 AND thread_id = $2', keyOf(key));
      return row && toHead(row);
    },

    getState: async (key, maxBytes = Infinity) => {
      const rows = await query(selectState, [...keyOf(key), Number.MAX_SAFE_INTEGER, toBound(maxBytes)]);
      const { entries, bottom } = toContextPage(
        rows.filter((row) => row['name'] === null),
        Number.MAX_SAFE_INTEGER,
      );
      return {
        fields: toFields(rows.filter((row) => row['name'] !== null)),
        context: entries.map(({ json }) => json),
        isTruncated: bottom > 0,
      };
    },

    getFields: async (key, names) =>
      toFields(
        await (names ? query(selectFields, [...keyOf(key), names.map(hashOf)]) : query(selectAllFields, keyOf(key))),
      ),

    listContext: async (key, { below = Number.MAX_SAFE_INTEGER, maxBytes }) => {
      const page = toContextPage(await query(selectContext, [...keyOf(key), below, toBound(maxBytes)]), below);
      if (page.entries.length > 0 || page.bottom === 0) return page;
      const [row] = await query(
        `SELECT x.position, x.message_id, x.json ${ofThread('messages')} AND ${isInContext} AND x.position < $3
         ORDER BY x.position DESC LIMIT 1`,
        [...keyOf(key), below],
      );
      const entries = row ? [toLogEntry(row)] : [];
      return { entries, bottom: entries[0]?.position ?? 0 };
    },

    getEntries: async (key, positions) => {
      if (positions.length === 0) return [];
      const rows = await query(
        `SELECT x.position, x.message_id, x.json, ${isInContext} AS is_in_context ${ofThread('messages')}
         AND x.position = ANY($3::bigint[]) ORDER BY x.position`,
        [...keyOf(key), positions],
      );
      return rows.map(toPlacedEntry);
    },

    getMessage: async (key, messageId) => {
      const [row] = await query(
        `SELECT x.position, x.json, x.version ${ofThread('messages')} AND left(x.message_id, 256) = left($3, 256) AND x.message_id = $3`,
        [...keyOf(key), messageId],
      );
      return row && toStoredMessage(row);
    },

    getRun: async (owner, runId) => {
      const [row] = await query('SELECT * FROM runs WHERE owner = $1 AND run_id = $2', [owner, runId]);
      return row && toRun(row);
    },
  };
}

const keyOf = ({ owner, threadId }: ThreadKey): [string, string] => [owner, threadId];

/**
 * The newest messages of the context below position `$3` that fit into `$4` bytes, and after them the next one without its
 * content: by it the reader knows that there are more.
 */
const selectContext = `SELECT position, message_id, CASE WHEN total <= $4::bigint THEN json END AS json
  FROM (SELECT x.position, x.message_id, x.json, octet_length(x.json) + 1 AS size,
          sum(octet_length(x.json) + 1) OVER (ORDER BY x.position DESC) AS total
        ${ofThread('messages')} AND ${isInContext} AND x.position < $3::bigint) AS sized
  WHERE total - size <= $4::bigint
  ORDER BY position DESC`;

/** The rows of `selectContext` and a row for each field of the state. Rows of fields have a `name`, rows of messages have none. */
const selectState = `SELECT NULL AS name, position, message_id, json FROM (${selectContext}) AS context
  UNION ALL SELECT x.name, NULL, NULL, x.json ${ofThread('fields')}`;

/** A bound as PostgreSQL takes it. */
const toBound = (bytes: number): number => Math.min(bytes, Number.MAX_SAFE_INTEGER);

/** From rows in descending order. */
function toContextPage(
  rows: readonly Row[],
  below: number,
): { readonly entries: readonly LogEntry[]; readonly bottom: number } {
  const ordered = rows.toSorted((a, b) => (a['position'] as number) - (b['position'] as number));
  const entries = ordered.filter((row) => row['json'] !== null).map(toLogEntry);
  const isWhole = entries.length === rows.length;
  return { entries, bottom: isWhole ? 0 : (entries[0]?.position ?? below) };
}

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

    listAllRuns: async ({ after, ...limits }) => {
      const page = pageOf({
        columns: `owner, ${ownRunColumns}`,
        size: '512 + octet_length(run_id) + coalesce(octet_length("end"), 0)',
        from: `FROM (
          SELECT * FROM runs JOIN (SELECT ${headOfRunColumns} FROM threads) AS head ON head.thread_ref = runs.ref
          WHERE (created_at, run_id) < ($1, $2)) AS x`,
        order: 'x.created_at DESC, x.run_id DESC',
        firstParam: 3,
        ...limits,
      });
      const mark = after ? [after.createdAt, after.runId] : [Number.MAX_SAFE_INTEGER, ''];
      return toAllRunsPart(await read(page, mark), limits);
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

    listTraces: async ({ owner, threadId }, { from, to, withContent, bytes }) => {
      const content = withContent ? 'trace_content' : 'NULL::bytea AS trace_content';
      const page = pageOf({
        columns: `version, trace, ${content}`,
        size: `octet_length(trace)${withContent ? ' + coalesce(octet_length(trace_content), 0)' : ''}`,
        from: `${ofThread('checkpoints')} AND x.version BETWEEN $3 AND $4 AND x.trace IS NOT NULL`,
        order: 'x.version',
        firstParam: 5,
        ...{ limit: to - from + 1, bytes },
      });
      return take(await read(page, [owner, threadId, from, to]), toTraceRow, traceBytes, bytes);
    },
  };
}
