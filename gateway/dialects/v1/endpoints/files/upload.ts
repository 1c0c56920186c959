import type { FileRecord } from '@agent-workflow/protos/threads';
import { discardFile, storeFile } from '../../../../files/index.ts';
import { UploadedFile } from '../../schemas/files.ts';
import { endpoint } from '../common/endpoint.ts';
import { uploadedFileText } from './file-text.ts';
import * as examples from './examples.ts';

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
