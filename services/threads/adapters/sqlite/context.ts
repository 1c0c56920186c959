import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { ContextPage } from '../../ports/reads.ts';
import type { LogEntry, MeasuredSize, ThreadKey } from '../../ports/record.ts';
import { sizeOfFields } from '../../record/size.ts';
import { toLogEntry } from '../../record/sql-rows.ts';
import { contextRows, type ContextRef } from './gaps.ts';
import { selectFields, selectHead } from './snapshot.ts';

interface NewestPage {
  readonly below?: number;
  readonly maxBytes: number;
  readonly limit?: number;
}

/** The newest messages of a context that fit: the others are not read. */
export function newestOfContext(
  db: Sqlite,
  of: ContextRef,
  { below = Number.MAX_SAFE_INTEGER, maxBytes, limit = Infinity }: NewestPage,
): ContextPage {
  const entries: LogEntry[] = [];
  let bytes = 0;
  for (const row of contextRows(db, of, { columns: 'position, message_id, json', below })) {
    const bottom = entries.at(-1)?.position ?? below;
    if (entries.length === limit) return { entries: entries.reverse(), bottom };
    const entry = toLogEntry(row);
    bytes += entry.json.byteLength + 1;
    if (bytes > maxBytes) return { entries: entries.reverse(), bottom };
    entries.push(entry);
  }
  return { entries: entries.reverse(), bottom: 0 };
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
    for (let below: number | undefined; ;) {
      const rows = selectSizes(db, row, below);
      for (const { bytes } of rows) context += bytes + 1;
      below = rows.at(-1)?.position;
      if (below === undefined || rows.length < measuredAtOnce) break;
      await nextTurn();
    }
    if (selectHead(db, key)?.head.version === version) return { version, fields, context };
  }
}

interface SizeRow {
  readonly position: number;
  readonly bytes: number;
}

function selectSizes(db: Sqlite, of: ContextRef, below: number | undefined): readonly SizeRow[] {
  const sizes: SizeRow[] = [];
  for (const row of contextRows(db, of, {
    columns: 'position, length(json) AS bytes',
    ...(below !== undefined && { below }),
  })) {
    sizes.push({ position: row['position'] as number, bytes: row['bytes'] as number });
    if (sizes.length === measuredAtOnce) break;
  }
  return sizes;
}
