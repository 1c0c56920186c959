import type { FileRecord } from '@agent-workflow/protos/threads';
import { typeOf } from '../../../../files/index.ts';
import { jsonObject, timeText } from '../../../../http/json.ts';

/** A record as JSON members, by their names on the wire. */
const members = (file: FileRecord): Readonly<Record<string, string | undefined>> => ({
  file_id: JSON.stringify(file.fileId),
  mime_type: JSON.stringify(typeOf(file)),
  size_bytes: String(file.size),
  filename: JSON.stringify(file.filename),
  sha256: JSON.stringify(file.sha256 ?? ''),
  created_at: timeText(file.createdAt),
  expires_at: file.expiresAt === undefined ? undefined : timeText(file.expiresAt),
  extracted_text: 'null',
});

export const fileText = (file: FileRecord): string => jsonObject(members(file));

export const uploadedFileText = (file: FileRecord): string =>
  jsonObject({ ...members(file), url: JSON.stringify(`/v1/files/${encodeURIComponent(file.fileId)}`) });
