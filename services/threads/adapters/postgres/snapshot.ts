import type { Reads, Snapshot, UndoSink } from '../../ports/changes.ts';
import type { Head, PlacedEntry, RunRecord, ThreadKey } from '../../ports/record.ts';
import { optional, toRun, type Row } from '../../record/sql-rows.ts';
import type { Transaction } from './transaction.ts';
import type { Param } from './values.ts';
import { hashOf, toFields, toHead, toPlacedEntry, toUndoRow } from './rows.ts';
import { undoPage } from './pages.ts';

/** A thread as a change finds it. */
export interface FoundThread {
  readonly ref: number;
  /** `in_context` of the messages that are part of the context. */
  readonly contextNumber: number;
  /** When the oldest checkpoint that is kept was made, or one older still; `null` when the thread has had none. */
  readonly checkpointsSince: number | null;
  readonly head: Head;
}

/** Selects from the tables of a thread, as `x`, with its head as `t`; the key is `$1` and `$2`. */
export const ofThread = (table: string): string =>
  `FROM threads AS t JOIN ${table} AS x ON x.ref = t.ref WHERE t.owner = $1 AND t.thread_id = $2`;

/** Whether a message is part of the context. The last part lets PostgreSQL use the index of messages in a context. */
export const isInContext = 'x.in_context = t.context_number AND x.in_context > 0';

const toFound = (row: Row): FoundThread => ({
  ref: row['ref'] as number,
  contextNumber: row['context_number'] as number,
  checkpointsSince: row['checkpoints_since'] as number | null,
  head: toHead(row),
});

/**
 * Locks the thread until the transaction ends and reads what `reads` names. The lock is taken first, on the server, and every
 * statement of the transaction sees what was committed before it: together they show one moment of the thread.
 */
export async function lockThread(
  transaction: Transaction,
  { owner, threadId }: ThreadKey,
  reads: Reads,
): Promise<{ readonly found: FoundThread | undefined; readonly snapshot: Snapshot }> {
  const query = (sql: string, ...params: readonly Param[]): Promise<readonly Row[]> =>
    transaction.query(sql, [owner, threadId, ...params]);
  const none: Promise<readonly Row[]> = Promise.resolve([]);
  const { runs = [], messages = [], fields = [], toolCall, request } = reads;
  const { activeRun = false, interruptedRun = false } = reads;
  const [heads, runRows, entryRows, fieldRows, contextRows, toolCallRows, appliedRows] = await Promise.all([
    query('SELECT * FROM threads WHERE owner = $1 AND thread_id = $2 FOR UPDATE'),
    runs.length === 0 && !activeRun && !interruptedRun ? none : query(selectRuns, runs, activeRun, interruptedRun),
    messages.length === 0 ? none : query(selectEntries, messages),
    fields === 'all' ? query(selectAllFields) : fields.length === 0 ? none : query(selectFields, fields.map(hashOf)),
    reads.context ? query(selectContext) : none,
    toolCall ? query(selectToolCall, toolCall.runId, toolCall.callKey) : none,
    request === undefined ? none : query(selectApplied, request),
  ]);
  const [row] = heads;
  if (!row) return { found: undefined, snapshot: emptySnapshot };
  const found = toFound(row);
  if (reads.undosOfActiveRun) await readUndos(transaction, found, reads.undosOfActiveRun());
  const [called] = toolCallRows;
  const [applied] = appliedRows;
  return {
    found,
    snapshot: {
      head: found.head,
      runs: new Map(runRows.map((each): [string, RunRecord] => [each['run_id'] as string, toRun(each)])),
      entries: inOrder(messages, entryRows),
      fields: toFields(fieldRows),
      context: contextRows.map((each) => each['position'] as number),
      ...(toolCall &&
        called && { toolCall: { ...toolCall, ...optional('result', called['result'] as Uint8Array | null) } }),
      ...(applied && { applied: applied['reply'] as Uint8Array }),
    },
  };
}

const emptySnapshot: Snapshot = { head: undefined, runs: new Map(), entries: new Map(), fields: {}, context: [] };

const selectRuns = `SELECT x.* ${ofThread('runs')} AND x.owner = t.owner
  AND (x.run_id = ANY($3::text[]) OR ($4::boolean AND x.run_id = t.active_run) OR ($5::boolean AND x.run_id = t.interrupted_run))`;
const selectEntries = `SELECT x.position, x.message_id, x.json, ${isInContext} AS is_in_context ${ofThread('messages')}
  AND left(x.message_id, 256) IN (SELECT left(id, 256) FROM unnest($3::text[]) AS id) AND x.message_id = ANY($3::text[])`;
export const selectAllFields = `SELECT x.name, x.json ${ofThread('fields')}`;
export const selectFields = `${selectAllFields} AND x.name_hash = ANY($3::text[])`;
const selectContext = `SELECT x.position ${ofThread('messages')} AND ${isInContext} ORDER BY x.position`;
const selectToolCall = `SELECT x.result ${ofThread('tool_calls')}
  AND x.run_id = $3 AND left(x.call_key, 256) = left($4, 256) AND x.call_key = $4`;
const selectApplied = `SELECT x.reply ${ofThread('applied')} AND left(x.id, 256) = left($3, 256) AND x.id = $3`;

/** The entries in the order in which they were named. */
function inOrder(messageIds: readonly string[], rows: readonly Row[]): ReadonlyMap<string, PlacedEntry> {
  const known = new Map(rows.map((row) => [row['message_id'] as string, toPlacedEntry(row)]));
  return new Map(
    messageIds.flatMap((id): [string, PlacedEntry][] => {
      const entry = known.get(id);
      return entry ? [[id, entry]] : [];
    }),
  );
}

/** The undo records that are read at once, in bytes: all of a long run may be more than fits in memory. */
const undoBytesAtOnce = 4 * 1024 * 1024;
const undosAtOnce = 64;

async function readUndos(transaction: Transaction, { ref, head }: FoundThread, sink: UndoSink): Promise<void> {
  if (head.foundVersion === undefined) return;
  for (let below = Number.MAX_SAFE_INTEGER; ;) {
    const page = undoPage({ above: head.foundVersion, below, limit: undosAtOnce, bytes: undoBytesAtOnce });
    const rows = await transaction.query(page.sql, [ref, ...page.params]);
    for (const row of rows) sink.add(toUndoRow(row));
    const last = rows.at(-1);
    if (!last) return;
    below = last['version'] as number;
  }
}
