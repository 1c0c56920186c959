import { removeFile } from '../../../../files/index.ts';
import { Done } from '../../schemas/common.ts';
import { FileParams } from '../../schemas/files.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

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
