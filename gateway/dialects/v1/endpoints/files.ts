import { ofKey } from '../../../api-keys/scopes.ts';
import { readTime } from '@agent-workflow/protos/message';
import type { FileRecord } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { typeOf, discardFile, storeFile, toContent, removeFile } from '../../../files/index.ts';
import { fileAddresses } from '../../../http/access.ts';
import { jsonObject, timeText } from '../../../http/json.ts';
import * as examples from '../examples/files.ts';
import { Done, maxLimit } from '../schemas/common.ts';
import {
  FileBytes,
  FileInfo,
  FileList,
  FileParams,
  FilesQuery,
  FileUrl,
  MultimodalConfig,
  UploadedFile,
} from '../schemas/files.ts';
import { endpoint } from './common/endpoint.ts';
import { nextPage } from './common/page.ts';

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

const fileText = (file: FileRecord): string => jsonObject(members(file));

const uploadedFileText = (file: FileRecord): string =>
  jsonObject({ ...members(file), url: JSON.stringify(`/v1/files/${encodeURIComponent(file.fileId)}`) });

export const uploadFile = endpoint({
  name: 'uploadFile',
  tag: 'files',
  summary: 'Upload a file',
  description:
    'Takes a form with one field, `file`. A block of a message then names the file as `file_id`; one that no message of a thread names within `FILES_TTL_HOURS` is removed. 413 for a file that is too large and when the caller has no room for it; 422 when it is empty or its bytes belie its content type. A repeated upload makes another file.',
  example: examples.uploadFile,
  method: 'POST',
  path: '/v1/files/upload',
  access: { resource: 'files', action: 'upload' },
  takesFile: true,
  reply: UploadedFile,
  handle: async ({ owner, newId, receiveFile, call }, { threads, files, log }) => {
    const key = { owner, fileId: newId('file') };
    const parts = { threads, files, log };
    let stored: FileRecord | undefined;
    try {
      const file = await receiveFile(async (file) => (stored = await storeFile({ key, file, call }, parts)));
      return uploadedFileText(file);
    } catch (error) {
      // The form went wrong after its file, or the caller left before its end: nobody knows of this file.
      if (stored) await discardFile(key, parts);
      throw error;
    }
  },
});

/** A time of the query in milliseconds: files have no smaller part. */
function timeAt(input: Static<typeof FilesQuery>, name: 'from' | 'to'): number | undefined {
  const at = readTime(input[name], ['body', name]);
  return at === undefined ? undefined : Math.ceil(at);
}

export const listFiles = endpoint({
  name: 'listFiles',
  tag: 'files',
  summary: 'List the files, newest first',
  description:
    'The stored files of the owner that pass every filter given, the newest first by the time of their upload, in pages. A page reads at most 2,000 files. Where few of those match, it holds fewer than `limit`, or none, with `has_more: true`: continue with `cursor` until `has_more` is `false`.',
  example: examples.listFiles,
  method: 'GET',
  path: '/v1/files',
  access: { resource: 'files', action: 'read' },
  input: FilesQuery,
  reply: FileList,
  handle: async ({ owner, input, call }, { threads }) => {
    const { limit, cursor: after, search, mime_type: mediaType } = input;
    const from = timeAt(input, 'from');
    const to = timeAt(input, 'to');
    const filter = {
      ...(search !== undefined && { search }),
      ...(mediaType !== undefined && { mediaType }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    };
    const page = { limit: Math.min(limit, maxLimit), ...(after !== undefined && { cursor: after }) };
    const { files, cursor } = await threads.listFiles({ owner, filter, ...page }, call());
    return jsonObject({ files: `[${files.map(fileText).join(',')}]`, ...nextPage(cursor) });
  },
});

export const getFile = endpoint({
  name: 'getFile',
  tag: 'files',
  summary: 'Read the bytes of a file',
  description:
    'All of them, or the part that `Range` names (206). `ETag` is the SHA-256: `If-None-Match` gives 304, and `If-Range` continues a download that was cut off. Images, sound and films are shown by browsers, everything else is saved; what a browser would run, as HTML and SVG, comes as bytes of no type.',
  example: examples.getFile,
  method: 'GET',
  path: '/v1/files/{file_id}',
  access: { resource: 'files', action: 'read' },
  params: FileParams,
  reply: FileBytes,
  answer: 'content',
  handle: async ({ owner, params, call }, { threads, files, log }) =>
    toContent(await threads.getFile({ owner, fileId: params.file_id }, call()), { files, log, isEmbeddable: false }),
});

export const getFileInfo = endpoint({
  name: 'getFileInfo',
  tag: 'files',
  summary: 'Read what is known about a file',
  description: 'Its name, type, size and hash. 404 for a file that is not stored whole.',
  example: examples.getFileInfo,
  method: 'GET',
  path: '/v1/files/{file_id}/info',
  access: { resource: 'files', action: 'read' },
  params: FileParams,
  reply: FileInfo,
  handle: async ({ owner, params, call }, { threads }) =>
    fileText(await threads.getFile({ owner, fileId: params.file_id }, call())),
});

export const getFileUrl = endpoint({
  name: 'getFileUrl',
  tag: 'files',
  summary: 'Make an address at which anybody reads the file for ten minutes',
  description:
    'For an `<img>` or a model’s provider, which send no credentials. The address begins with `/files/` and is good for this file alone, until its time is over or the file is deleted; afterwards it gives 401 or 404.',
  example: examples.getFileUrl,
  method: 'GET',
  path: '/v1/files/{file_id}/url',
  access: { resource: 'files', action: 'read' },
  params: FileParams,
  reply: FileUrl,
  handle: async ({ owner, user, shareId, params, call }, { threads, files }) => {
    const file = await threads.getFile({ owner, fileId: params.file_id }, call());
    const { token, until } = files.addresses.make({
      ...{ owner, fileId: file.fileId, ...ofKey(user) },
      ...(shareId !== undefined && { shareId }),
    });
    return JSON.stringify({
      file_id: file.fileId,
      url: `${fileAddresses}${token}`,
      expires_at: Math.floor(until / 1000),
      mime_type: typeOf(file),
    });
  },
});

export const deleteFile = endpoint({
  name: 'deleteFile',
  tag: 'files',
  summary: 'Delete a file',
  description:
    'For good, also when messages name it: their blocks stay, and lead nowhere. Bytes that cannot be removed at once are removed soon after.',
  example: examples.deleteFile,
  method: 'DELETE',
  path: '/v1/files/{file_id}',
  access: { resource: 'files', action: 'delete' },
  params: FileParams,
  reply: Done,
  handle: async ({ owner, params, call }, { threads, files, log }) => {
    const key = { owner, fileId: params.file_id };
    await threads.deleteFile(key, call());
    await removeFile(key, { threads, files }).catch((error: unknown) => {
      log.warn({ err: error, file_id: key.fileId }, 'the bytes of a deleted file were not removed; the sweep does it');
    });
    return '{"success":true}';
  },
});

const MiB = 1024 * 1024;

export const getMultimodalConfig = endpoint({
  name: 'getMultimodalConfig',
  tag: 'files',
  summary: 'What files the service takes',
  description: 'The bounds of uploads, for clients that check before they send.',
  example: examples.getMultimodalConfig,
  method: 'GET',
  path: '/v1/config/multimodal',
  access: { resource: 'files', action: 'read' },
  reply: MultimodalConfig,
  handle: (_, { files: { kind, limits } }) => {
    const isOff = kind === 'none';
    return JSON.stringify({
      media_storage_type: kind,
      media_storage_path: '',
      media_max_size_mb: isOff ? 0 : limits.maxFileBytes / MiB,
      media_max_files: isOff ? 0 : limits.maxFiles,
      media_quota_mb: isOff ? 0 : limits.maxBytes / MiB,
      document_handling: 'pass_raw',
    });
  },
});
