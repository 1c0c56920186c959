import { FileInfo, FileParams } from '../../schemas/files.ts';
import { endpoint } from '../common/endpoint.ts';
import { fileText } from './file-text.ts';
import * as examples from './examples.ts';

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
