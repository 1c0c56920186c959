import type { FileStatus } from '@agent-workflow/protos/lists';
import type { FileNote, FileRow } from '../ports/files.ts';
import { optional, type Row } from './sql-rows.ts';

/** The columns of {@link toFileRow} after the key, in the order of {@link fileValues}. */
export const fileColumns = [
  ...['filename', 'content_type', 'sniffed_type', 'size', 'sha256', 'created_at', 'status', 'due_at', 'noted'],
] as const;

export const fileValues = (file: FileRow): readonly (string | number | null)[] => [
  ...[file.filename, file.contentType ?? null, file.sniffedType ?? null, file.size, file.sha256 ?? null],
  ...[file.createdAt, file.status, file.dueAt ?? null, file.noted],
];

export const toFileRow = (row: Row): FileRow => ({
  owner: row['owner'] as string,
  fileId: row['file_id'] as string,
  filename: row['filename'] as string,
  ...optional('contentType', row['content_type'] as string | null),
  ...optional('sniffedType', row['sniffed_type'] as string | null),
  size: row['size'] as number,
  ...optional('sha256', row['sha256'] as string | null),
  createdAt: row['created_at'] as number,
  status: row['status'] as FileStatus,
  ...optional('dueAt', row['due_at'] as number | null),
  noted: row['noted'] as number,
});

export const toFileNote = (row: Row): FileNote => ({ threadId: row['thread_id'] as string, at: row['at'] as number });
