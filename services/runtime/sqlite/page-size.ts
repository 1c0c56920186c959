import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

/** A file with more bytes in use keeps its pages: to copy it would hold up the start for seconds. */
const mostBytes = 256 * 1024 * 1024;

/**
 * Copies a file whose pages have another size than this, where that is quick. A small change then writes less: SQLite writes whole pages.
 * Pages of any size are read, so a copy that fails is of no consequence. It leaves the file without a write-ahead log, which is opened
 * after it.
 */
export function fitPages(db: DatabaseSync, path: string, pageBytes: number): void {
  const pages = numberOf(db, 'page_count') - numberOf(db, 'freelist_count');
  const bytes = pages * pageBytesOf(db);
  if (pageBytesOf(db) === pageBytes || bytes > mostBytes || !hasRoom(path, 3 * bytes)) return;
  try {
    db.exec(`PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA page_size = ${String(pageBytes)}; VACUUM`);
  } catch {
    // SQLite has undone it.
  }
}

/** The size of the file's pages. */
export const pageBytesOf = (db: DatabaseSync): number => numberOf(db, 'page_size');

const numberOf = (db: DatabaseSync, pragma: 'page_size' | 'page_count' | 'freelist_count'): number =>
  Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);

/** For the copy, and for the journal that undoes it. */
function hasRoom(path: string, bytes: number): boolean {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize > bytes;
}
