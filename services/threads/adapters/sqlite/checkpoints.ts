import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { UndoRow } from '../../ports/changes.ts';
import type { TraceRange, TraceRow } from '../../ports/history.ts';
import type { Checkpoint } from '../../ports/record.ts';
import { fromWork, take, toList, toTraceRow } from '../../record/sql-rows.ts';
import { traceBytes, undoBytes } from '../../record/row-sizes.ts';
import { toIdOrNull } from './rows.ts';

interface Range {
  readonly above: number;
  readonly below: number;
  /** -1 for all. */
  readonly limit: number;
}

export const selectUndos = (db: Sqlite, ref: number, range: Range, bytes?: number): UndoRow[] =>
  take(iterateUndos(db, ref, range), (row) => row, undoBytes, bytes);

/** One after the other: all undos of a long run may be more than fits in memory. */
export function* iterateUndos(db: Sqlite, ref: number, { above, below, limit }: Range): Generator<UndoRow> {
  const rows = db
    .prepare(
      `SELECT version, undo FROM checkpoints WHERE ref = ? AND version > ? AND version < ?
       ORDER BY version DESC LIMIT ?`,
    )
    .iterate(ref, above, below, limit);
  for (const row of rows) yield { version: row['version'] as number, undo: row['undo'] as Uint8Array };
}

/** The traces of a range of versions, the oldest first. */
export function selectTraces(db: Sqlite, ref: number, { from, to, withContent, bytes }: TraceRange): TraceRow[] {
  const rows = db
    .prepare(
      `SELECT version, trace, ${withContent ? 'trace_content' : 'NULL AS trace_content'} FROM checkpoints
       WHERE ref = ? AND version BETWEEN ? AND ? AND trace IS NOT NULL ORDER BY version`,
    )
    .iterate(ref, from, to);
  return take(rows, toTraceRow, traceBytes, bytes);
}

export function putCheckpoint(db: Sqlite, ref: number, version: number, checkpoint: Checkpoint): void {
  const { source, runId, step = null, nodes, next, at, metadata = null, undo, work, trace } = checkpoint;
  db.prepare(
    `INSERT INTO checkpoints
       (ref, version, source, run_id, step, nodes, next, at, metadata, undo, work, trace, trace_content)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    ...[ref, version, source, toIdOrNull(runId), step, toList(nodes), toList(next), at, metadata, undo, fromWork(work)],
    ...[trace?.spansJson ?? null, trace?.contentJson ?? null],
  );
}

/** Drops checkpoints made before `time`, thread by thread, the longest ago first; gives how many. */
export function expireCheckpoints(db: Sqlite, time: number, limit: number): number {
  const aged = db
    .prepare(
      `SELECT ref, found_version FROM threads WHERE checkpoints_since < ? AND (found_version IS NULL OR
         EXISTS (SELECT 1 FROM checkpoints AS c WHERE c.ref = threads.ref AND c.version < threads.found_version))
       ORDER BY checkpoints_since LIMIT ?`,
    )
    .all(time, limit);
  let dropped = 0;
  for (const { ref, found_version: found } of aged) {
    if (dropped === limit) break;
    const below = (found as number | null) ?? Number.MAX_SAFE_INTEGER;
    dropped += expireOfThread(db, ref as number, { time, below, limit: limit - dropped });
  }
  return dropped;
}

interface Ageing {
  readonly time: number;
  readonly below: number;
  readonly limit: number;
}

/** Drops what is too old of one thread, up to its first checkpoint that is not, and notes how old that is. */
function expireOfThread(db: Sqlite, ref: number, { time, below, limit }: Ageing): number {
  const young = db
    .prepare('SELECT version FROM checkpoints WHERE ref = ? AND at >= ? ORDER BY version LIMIT 1')
    .get(ref, time);
  const end = Math.min(below, (young?.['version'] as number | undefined) ?? below);
  const { changes } = db
    .prepare(
      `DELETE FROM checkpoints WHERE ref = ?1 AND version IN
         (SELECT version FROM checkpoints WHERE ref = ?1 AND version < ?2 ORDER BY version LIMIT ?3)`,
    )
    .run(ref, end, limit);
  db.prepare(
    `UPDATE threads SET checkpoints_since = (SELECT at FROM checkpoints WHERE ref = ?1 ORDER BY version LIMIT 1)
     WHERE ref = ?1`,
  ).run(ref);
  return Number(changes);
}
