import { typeOf } from '../../../../files/index.ts';
import { fileAddresses } from '../../../../http/access.ts';
import { FileParams, FileUrl } from '../../schemas/files.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

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
  handle: async ({ owner, params, call }, { threads, files }) => {
    const file = await threads.getFile({ owner, fileId: params.file_id }, call());
    const { token, until } = files.addresses.make(file);
    return JSON.stringify({
      file_id: file.fileId,
      url: `${fileAddresses}${token}`,
      expires_at: Math.floor(until / 1000),
      mime_type: typeOf(file),
    });
  },
});
