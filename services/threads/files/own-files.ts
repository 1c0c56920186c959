import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { FileFilter, ListFilesRequest } from '@agent-workflow/protos/threads';
import { finding } from '../lists/contains.ts';
import { filesCursors } from '../lists/cursor.ts';
import type { FileRecords, FileRow } from '../ports/files.ts';

/** Files that one page reads at most, and those that one request to the store reads (counts). */
const filesOfPage = 2000;
const filesAtOnce = 500;

interface OwnFiles {
  readonly files: readonly FileRow[];
  readonly cursor?: string;
}

/**
 * A page of the stored files of an owner that pass a filter, by id from the highest on, which is from the newest. It ends when it is full, or when it
 * has read its share of files of which few pass: then its cursor is after the last file that was read.
 * @throws Invalid for the cursor of another list; the signal's reason.
 */
export async function listOwnFiles(
  store: Pick<FileRecords, 'listOwnFiles'>,
  { owner, limit, cursor, filter }: ListFilesRequest,
  signal: AbortSignal,
): Promise<OwnFiles> {
  const { toCursor, fromCursor } = filesCursors({ owner, ...(filter && { filter }) });
  const passes = passingTest(filter);
  const yielder = createYielder({ signal });
  const found: FileRow[] = [];
  let after = cursor === undefined ? undefined : fromCursor(cursor);
  for (let left = Math.max(filesOfPage, limit + 1); left > 0 && found.length <= limit;) {
    const size = Math.min(left, filesAtOnce);
    const rows = await store.listOwnFiles(owner, { after, limit: size });
    found.push(...rows.filter(passes));
    left -= rows.length;
    after = rows.length < size ? undefined : rows.at(-1)?.fileId;
    if (after === undefined) break;
    if (yielder.isDue()) await yielder.yield();
  }
  const { items, hasMore } = toPage(found, { limit, bytes: pageBytes, sizeOf: fileBytes });
  const end = hasMore ? items.at(-1)?.fileId : after;
  return { files: items, ...(end === undefined ? {} : { cursor: toCursor(end) }) };
}

/** How many bytes a file has in a reply at most: each character of its texts may be escaped. */
const fileBytes = ({ fileId, filename, contentType = '', sniffedType = '' }: FileRow): number =>
  512 + 6 * (fileId.length + filename.length + Math.max(contentType.length, sniffedType.length));

function passingTest({ search, mediaType, from, to }: FileFilter = {}): (file: FileRow) => boolean {
  const tests: ((file: FileRow) => boolean)[] = [({ status }) => status === 'stored'];
  if (from !== undefined) tests.push(({ createdAt }) => createdAt >= from);
  if (to !== undefined) tests.push(({ createdAt }) => createdAt < to);
  if (mediaType) tests.push((file) => isOfType(file, mediaType));
  if (search) {
    const isFound = finding(search);
    tests.push(({ filename, fileId }) => isFound(filename) || isFound(fileId));
  }
  return (file) => tests.every((test) => test(file));
}

/** A file without a type is one of bytes, as callers see it. */
function isOfType({ sniffedType, contentType = 'application/octet-stream' }: FileRow, mediaType: string): boolean {
  const [type, asked] = [(sniffedType ?? contentType).toLowerCase(), mediaType.toLowerCase()];
  return asked.endsWith('/*') ? type.startsWith(asked.slice(0, -1)) : type === asked;
}
