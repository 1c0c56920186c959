import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { ContextPage } from '../../ports/reads.ts';
import type { LogEntry } from '../../ports/record.ts';
import { toLogEntry } from '../../record/sql-rows.ts';
import { contextRows, type ContextRef } from './gaps.ts';

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
