import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { Row } from '../../record/sql-rows.ts';

/** Positions from `start` to below `stop`. */
interface Gap {
  readonly start: number;
  readonly stop: number;
}

/**
 * The gaps of a thread's context: none of its messages stands in one. The gaps are apart from each other. A message that is not part of the
 * context may stand outside of them; a reader looks at each message as well.
 */
function* gapsBelow({ prepare }: Pick<Sqlite, 'prepare'>, ref: number, position: number): Generator<Gap> {
  const rows = prepare('SELECT start, stop FROM gaps WHERE ref = ? AND start < ? ORDER BY start DESC');
  // The query names the columns.
  yield* rows.iterate(ref, position) as unknown as Iterable<Gap>;
}

/** Ranges of positions below `position`, the highest first, outside of which the context has no message. */
function* rangesBelow(db: Pick<Sqlite, 'prepare'>, ref: number, position: number): Generator<Gap> {
  let stop = position;
  for (const gap of gapsBelow(db, ref, position)) {
    if (gap.stop < stop) yield { start: gap.stop, stop };
    stop = gap.start;
  }
  if (stop > 0) yield { start: 0, stop };
}

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

/** Makes a gap, one with those that it meets. */
export function closeGap(db: Pick<Sqlite, 'prepare'>, ref: number, { start, stop }: Gap): void {
  let all: Gap = { start, stop };
  const met: Gap[] = [];
  for (const gap of gapsBelow(db, ref, stop + 1)) {
    if (gap.stop < start) break;
    met.push(gap);
    all = { start: Math.min(all.start, gap.start), stop: Math.max(all.stop, gap.stop) };
  }
  for (const gap of met) db.prepare('DELETE FROM gaps WHERE ref = ? AND start = ?').run(ref, gap.start);
  if (all.start < all.stop)
    db.prepare('INSERT INTO gaps (ref, start, stop) VALUES (?, ?, ?)').run(ref, all.start, all.stop);
}

/** Makes gaps of positions. */
export function closeGaps(db: Pick<Sqlite, 'prepare'>, ref: number, positions: readonly number[]): void {
  let gap: Gap | undefined;
  for (const position of positions.toSorted((a, b) => a - b)) {
    if (gap && position > gap.stop) {
      closeGap(db, ref, gap);
      gap = undefined;
    }
    gap = { start: gap?.start ?? position, stop: position + 1 };
  }
  if (gap) closeGap(db, ref, gap);
}

/** Takes one position out of its gap, if it is in one: the context has a message there. */
export function openGap(db: Pick<Sqlite, 'prepare'>, ref: number, position: number): void {
  const below = db.prepare('SELECT start, stop FROM gaps WHERE ref = ? AND start <= ? ORDER BY start DESC LIMIT 1');
  // The query names the columns.
  const gap = below.get(ref, position) as Gap | undefined;
  if (!gap || gap.stop <= position) return;
  db.prepare('DELETE FROM gaps WHERE ref = ? AND start = ?').run(ref, gap.start);
  for (const { start, stop } of [
    { start: gap.start, stop: position },
    { start: position + 1, stop: gap.stop },
  ])
    if (start < stop) db.prepare('INSERT INTO gaps (ref, start, stop) VALUES (?, ?, ?)').run(ref, start, stop);
}
