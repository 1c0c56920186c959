import { Cursor, described, flag, Id, limitOf, objectOf, paged, text, time } from './common.ts';
import { Type } from '../../common/builders.ts';

export const FileParams = Type.Object({ file_id: described(Id, 'The file') });

const bytesOf = (description: string) => Type.Integer({ minimum: 0, description });

const orNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description });

const shared = {
  file_id: text('The id of the file: a block of a message names it as `file_id`'),
  mime_type: text('The media type that the bytes show; that of the upload where they show none'),
  size_bytes: bytesOf('How many bytes the file has'),
  filename: text('The name of the file, without folders'),
  sha256: text('The SHA-256 of the bytes, as hexadecimal digits; also its `ETag`'),
  created_at: time('When the upload began'),
  expires_at: Type.Optional(
    time(
      'When the file is removed unless a thread names it by then; absent while a thread names it. A request that was refused names nothing',
    ),
  ),
  extracted_text: orNull('Always `null`: files are kept as they are, and text is read from them by the graph'),
};

export const UploadedFile = objectOf('UploadedFile', 'The file as it is stored.', {
  ...shared,
  url: text('The path at which its owner reads the bytes'),
});

export const FileInfo = objectOf('FileInfo', 'What is known about a file.', shared);

export const FileList = objectOf('FileList', 'A page of files.', {
  files: Type.Array(FileInfo, { description: 'The files, newest first' }),
  has_more: flag('Whether there may be more: continue with `cursor`, also when this page has no file'),
  cursor: paged.cursor,
});

const mediaTypePattern = '^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*|[*])$';

export const FilesQuery = Type.Object({
  limit: limitOf(100),
  cursor: Type.Optional(
    described(
      Cursor,
      'The `cursor` of the page before. It continues after the last file of that page, also when others are uploaded or deleted. It belongs to the list of the same filters: elsewhere it is 422.',
    ),
  ),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Only files with this text in `filename` or `file_id`, in upper or lower case',
    }),
  ),
  mime_type: Type.Optional(
    Type.String({
      pattern: mediaTypePattern,
      maxLength: 255,
      description: 'Only files of this `mime_type`, as `image/png`, or of a kind, as `image/*`',
    }),
  ),
  from: Type.Optional(time('Only files whose upload began at this time or later')),
  to: Type.Optional(time('Only files whose upload began before this time')),
});

export const FileUrl = objectOf('FileUrl', 'An address that gives the bytes without credentials.', {
  file_id: shared.file_id,
  url: text('The address, on the origin of this service'),
  expires_at: Type.Integer({
    description: 'Until when it is good: seconds since 1970, as the clients of this endpoint read it',
  }),
  mime_type: shared.mime_type,
});

export const MultimodalConfig = objectOf('MultimodalConfig', 'What files are taken.', {
  media_storage_type: text('Where files are stored: `local`, `s3`, or `none` when none are'),
  media_storage_path: text('Always empty: where exactly is the operator’s to know'),
  media_max_size_mb: Type.Integer({ minimum: 0, description: 'The largest file, in MiB' }),
  media_max_files: Type.Integer({ minimum: 0, description: 'How many files a caller may have' }),
  media_quota_mb: Type.Integer({ minimum: 0, description: 'How much the files of a caller may have together, in MiB' }),
  document_handling: text('Always `pass_raw`: documents reach the graph as they are'),
});

/** The form of an upload, and the bytes of a file: neither is JSON, so the descriptions are all that is used. */
export const FileBytes = Type.Unsafe<string>({
  type: 'string',
  format: 'binary',
  description: 'The bytes of the file',
});
