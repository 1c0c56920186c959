import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const params = { file_id: exampleIds.file };

const info = {
  file_id: exampleIds.file,
  mime_type: 'text/plain',
  size_bytes: 5,
  filename: 'hello.txt',
  sha256: '185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969',
  created_at: '2026-02-05T12:00:00.000Z',
  expires_at: '2026-02-06T12:00:00.000Z',
  extracted_text: null,
};

export const uploadFile: Example = {
  body: { file: 'Hello' },
  reply: { ...info, url: `/v1/files/${exampleIds.file}` },
};

export const listFiles: Example = {
  query: { mime_type: 'text/*', limit: 1000 },
  reply: { files: [info], has_more: false },
};

export const getFile: Example = { params, reply: 'Hello' };

export const getFileInfo: Example = { params, reply: info };

export const getFileUrl: Example = {
  params,
  reply: {
    file_id: exampleIds.file,
    url: '/files/q3GQW0dJm1…',
    expires_at: 1_770_293_400,
    mime_type: 'text/plain',
  },
};

export const deleteFile: Example = { params, reply: { success: true } };

export const getMultimodalConfig: Example = {
  reply: {
    media_storage_type: 'local',
    media_storage_path: '',
    media_max_size_mb: 100,
    media_max_files: 1000,
    media_quota_mb: 1024,
    document_handling: 'pass_raw',
  },
};
