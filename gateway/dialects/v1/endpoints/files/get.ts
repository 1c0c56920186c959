import { toContent } from '../../../../files/index.ts';
import { FileBytes, FileParams } from '../../schemas/files.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

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
