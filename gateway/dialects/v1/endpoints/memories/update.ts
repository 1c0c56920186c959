import { jsonBytes, jsonObject } from '../../../../http/json.ts';
import { MemoryParams, UpdatedMemory, UpdateMemory } from '../../schemas/memories.ts';
import { endpoint } from '../common/endpoint.ts';
import { memoryText } from './memory-text.ts';
import { timesOf } from './times.ts';
import * as examples from './examples.ts';

/** Replaces the content and merges the metadata given. */
export const updateMemory = endpoint({
  name: 'updateMemory',
  tag: 'memories',
  summary: 'Replace the content of a memory',
  description: 'Replaces the content, embeds it again, and merges the metadata.',
  example: examples.updateMemory,
  method: 'PUT',
  path: '/v1/store/memories/{memory_id}',
  access: { resource: 'store', action: 'write' },
  params: MemoryParams,
  input: UpdateMemory,
  reply: UpdatedMemory,
  handle: async ({ params, input, owner, idempotency, call }, { memory }) => {
    const metadata = input.metadata && { metadataJson: jsonBytes(input.metadata) };
    const request = {
      owner,
      memoryId: params.memory_id,
      content: input.content.toWellFormed(),
      ...metadata,
      ...timesOf(input),
      ...idempotency,
    };
    const item = await memory.update(request, call());
    return jsonObject({ memory: memoryText(item, owner), success: 'true' });
  },
});
