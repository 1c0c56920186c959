import { MultimodalConfig } from '../../schemas/files.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

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
