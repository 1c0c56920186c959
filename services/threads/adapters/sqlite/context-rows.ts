import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { Row } from '../../record/sql-rows.ts';
import { rangesBelow } from './gaps.ts';

/** What names the messages of a thread's context. */
export interface ContextRef {
  readonly ref: number;
  /** `in_context` of the messages that are part of it. */
  readonly contextNumber: number;
}

/** The messages of a context below a position, the newest first. Those that are not part of it are hardly read. */
export function* contextRows(
  db: Pick<Sqlite, 'prepare'>,
  { ref, contextNumber }: ContextRef,
  { columns, below = Number.MAX_SAFE_INTEGER }: { readonly columns: string; readonly below?: number },
): Generator<Row> {
  for (const { start, stop } of rangesBelow(db, ref, below)) {
    yield* db
      .prepare(
        `SELECT ${columns} FROM messages WHERE ref = ? AND in_context = ? AND position >= ? AND position < ?
         ORDER BY position DESC`,
      )
      .iterate(ref, contextNumber, start, stop);
  }
}
