import { notFound, ServiceError, stale } from '@agent-workflow/kit/errors';
import type { BeginFileRequest, FileRecord, FinishFileRequest } from '@agent-workflow/protos/threads';
import type { FileDecision, FileKey, FileRow, FileSnapshot } from '../ports/files.ts';

/** A file as replies show it. */
export const toFileRecord = ({ noted, dueAt, ...row }: FileRow): FileRecord => ({
  ...row,
  ...(row.status === 'stored' && dueAt !== undefined && noted === 0 ? { expiresAt: dueAt } : {}),
});

export const absentFile = (fileId: string): ServiceError => notFound(`file "${fileId}" does not exist`);

/** Puts a new file on record, as far as its owner may have another. A file that is there already stays as it is. */
export function decideBegin(
  { owner, fileId, filename, contentType, maxFiles, maxBytes }: BeginFileRequest,
  { file, totals }: FileSnapshot,
  now: number,
): FileDecision<FileRow> {
  if (file) return { reply: file };
  if (totals.files >= maxFiles) throw full(`${String(totals.files)} files, and may have ${String(maxFiles)}`);
  if (totals.bytes >= maxBytes) throw full(`${String(totals.bytes)} bytes of files, and may have ${String(maxBytes)}`);
  const put: FileRow = {
    ...{ owner, fileId, filename, size: 0, createdAt: now, status: 'uploading', dueAt: now, noted: 0 },
    ...(contentType === undefined ? {} : { contentType }),
  };
  return { change: { put }, reply: put };
}

const full = (what: string): ServiceError => new ServiceError('TooLarge', `the owner has ${what}: delete some first`);

/** Makes an uploading file readable, as far as its owner may have so many bytes. */
export function decideFinish(
  { fileId, size, sha256, sniffedType, maxBytes, ttlMs }: FinishFileRequest,
  { file, totals }: FileSnapshot,
  now: number,
): FileDecision<FileRow> {
  if (file?.status === 'stored' && file.size === size && file.sha256 === sha256) return { reply: file };
  if (file?.status !== 'uploading') throw stale(`file "${fileId}" is no longer being uploaded`);
  if (totals.bytes + size > maxBytes) {
    const sum = `${String(totals.bytes)} and ${String(size)} bytes of files`;
    throw full(`${sum}, and may have ${String(maxBytes)}`);
  }
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
