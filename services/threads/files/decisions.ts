import { notFound, ServiceError, stale } from '@agent-workflow/kit/errors';
import type { BeginFileRequest, FileRecord, FinishFileRequest } from '@agent-workflow/protos/threads';
import type { FileDecision, FileKey, FileRow, FileSnapshot } from '../ports/files.ts';

/** A file as replies show it, with the time at which it is due unless a thread names it. */
export const toFileRecord = ({ noted: _, dueAt, ...row }: FileRow, isNamed: boolean): FileRecord => ({
  ...row,
  ...(row.status === 'stored' && dueAt !== undefined && !isNamed ? { expiresAt: dueAt } : {}),
});

export const absentFile = (fileId: string): ServiceError => notFound(`file "${fileId}" does not exist`);

/**
 * Puts a new file on record, as far as its owner may have another, and reserves bytes for it; of a file that is uploading already, the
 * reserved bytes grow. Any other stays as it is.
 */
export function decideBegin(request: BeginFileRequest, snapshot: FileSnapshot, now: number): FileDecision<FileRow> {
  const { owner, fileId, filename, contentType, maxFiles, reserveBytes = 0 } = request;
  const { file, totals } = snapshot;
  if (file && (file.status !== 'uploading' || reserveBytes <= file.size)) return { reply: file };
  if (!file && totals.files >= maxFiles) {
    const count = `the stored files and uploads under way of the owner are ${String(totals.files)}`;
    throw full(`${count}, and they may be ${String(maxFiles)}`);
  }
  const size = reserved(request, snapshot);
  const put: FileRow = file
    ? { ...file, size }
    : {
        ...{ owner, fileId, filename, size, createdAt: now, status: 'uploading', dueAt: now, noted: 0 },
        ...(contentType === undefined ? {} : { contentType }),
      };
  return { change: { put }, reply: put };
}

/** How many of the bytes of a request are reserved. @throws TooLarge when the owner has no room for the least of them. */
function reserved({ reserveBytes = 0, leastBytes = 1, maxBytes }: BeginFileRequest, snapshot: FileSnapshot): number {
  const size = snapshot.file?.size ?? 0;
  const others = snapshot.totals.bytes - size;
  refuseBytes(others, leastBytes, maxBytes);
  return Math.max(size, Math.min(reserveBytes, maxBytes - others));
}

function refuseBytes(others: number, size: number, maxBytes: number): void {
  if (others + size <= maxBytes) return;
  throw full(
    `the stored files and other uploads under way of the owner take ${String(others)} bytes, ` +
      `this upload needs at least ${String(size)} bytes, and together they may take ${String(maxBytes)} bytes`,
  );
}

const full = (why: string): ServiceError => new ServiceError('TooLarge', `${why}: delete some files first`);

/** Makes an uploading file readable, as far as its owner may have so many bytes. */
export function decideFinish(
  { fileId, size, sha256, sniffedType, maxBytes, ttlMs }: FinishFileRequest,
  { file, totals }: FileSnapshot,
  now: number,
): FileDecision<FileRow> {
  if (file?.status === 'stored' && file.size === size && file.sha256 === sha256) return { reply: file };
  if (file?.status !== 'uploading') throw stale(`file "${fileId}" is no longer being uploaded`);
  refuseBytes(totals.bytes - file.size, size, maxBytes);
  const put: FileRow = {
    ...{ ...file, size, sha256, status: 'stored', dueAt: now + ttlMs },
    ...(sniffedType === undefined ? {} : { sniffedType }),
  };
  return { change: { put }, reply: put };
}

/** Takes a file away from its readers. */
export function decideDelete({ fileId }: FileKey, { file }: FileSnapshot, now: number): FileDecision<undefined> {
  if (!file) throw absentFile(fileId);
  if (file.status === 'deleting') return { reply: undefined };
  return { change: { put: toDeleting(file, now) }, reply: undefined };
}

/** A file that is due already keeps its place, so that a sweep which goes through the due files meets it once. */
export const toDeleting = (file: FileRow, now: number): FileRow => ({
  ...file,
  status: 'deleting',
  dueAt: Math.min(file.dueAt ?? now, now),
});

/** Removes the record of a file without bytes. */
export const decideForget = ({ file }: FileSnapshot): FileDecision<undefined> =>
  file?.status === 'deleting' ? { change: { remove: true }, reply: undefined } : { reply: undefined };

/** Counts a note of a readable file. @returns whether the file is one. */
export function decideNoted({ file }: FileSnapshot): FileDecision<boolean> {
  if (file?.status !== 'stored') return { reply: false };
  return { change: { put: { ...file, noted: file.noted + 1 } }, reply: true };
}
