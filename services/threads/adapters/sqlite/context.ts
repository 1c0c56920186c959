import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { ContextPage } from '../../ports/reads.ts';
import type { LogEntry, MeasuredSize, ThreadKey } from '../../ports/record.ts';
import { sizeOfFields } from '../../record/size.ts';
import { toLogEntry } from '../../record/sql-rows.ts';
import { ofContext, selectFields, selectHead, type ContextRef } from './snapshot.ts';

interface NewestPage {
  readonly below?: number;
  readonly maxBytes: number;
  readonly limit?: number;
}

/** The newest messages of a context that fit: the others are not read. */
export function newestOfContext(
  db: Sqlite,
  { ref, contextNumber }: ContextRef,
  { below = Number.MAX_SAFE_INTEGER, maxBytes, limit = -1 }: NewestPage,
): ContextPage {
  const rows = db
    .prepare(
      `SELECT position, message_id, json FROM messages WHERE ${ofContext} AND position < ?
       ORDER BY position DESC LIMIT ?`,
    )
    .iterate(ref, contextNumber, below, limit);
  const entries: LogEntry[] = [];
  let bytes = 0;
  for (const row of rows) {
    const entry = toLogEntry(row);
    bytes += entry.json.byteLength + 1;
    if (bytes > maxBytes) return { entries: entries.reverse(), bottom: entries[0]?.position ?? below };
    entries.push(entry);
  }
  const isCut = entries.length === limit;
  const bottom = isCut ? (entries.at(-1)?.position ?? 0) : 0;
  return { entries: entries.reverse(), bottom };
}

/** Messages measured before other work of the process continues: each may have megabytes of pages to read. */
const measuredAtOnce = 16;

/** The size of the state; measured anew when the thread changes meanwhile. */
export async function measure(db: Sqlite, key: ThreadKey): Promise<MeasuredSize | undefined> {
  for (;;) {
    const row = selectHead(db, key);
    if (!row) return undefined;
    const { version } = row.head;
    const fields = sizeOfFields(selectFields(db, row.ref));
    let context = 0;
    for (let after = -1; ;) {
      const rows = selectSizes(db, row, after);
      for (const { bytes } of rows) context += bytes + 1;
      const last = rows.at(-1);
      if (!last || rows.length < measuredAtOnce) break;
      after = last.position;
      await nextTurn();
    }
    if (selectHead(db, key)?.head.version === version) return { version, fields, context };
  }
}

interface SizeRow {
  readonly position: number;
  readonly bytes: number;
}

const selectSizes = (db: Sqlite, { ref, contextNumber }: ContextRef, after: number): readonly SizeRow[] =>
  db
    .prepare(
      `SELECT position, length(json) AS bytes FROM messages WHERE ${ofContext} AND position > ?
       ORDER BY position LIMIT ?`,
    )
    // The query names the columns.
    .all(ref, contextNumber, after, measuredAtOnce) as unknown as readonly SizeRow[];
