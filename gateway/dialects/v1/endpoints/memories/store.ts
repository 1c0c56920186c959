import { jsonBytes, jsonObject } from '../../../../http/json.ts';
import { StoredMemory, StoreMemory } from '../../schemas/memories.ts';
import { endpoint } from '../common/endpoint.ts';
import { threadOf } from './selection.ts';
import { timesOf } from './times.ts';
import * as examples from './examples.ts';

export const storeMemory = endpoint({
  name: 'storeMemory',
  tag: 'memories',
  summary: 'Store a memory',
  description: 'Stores a text with its embedding, to be found by later searches and by nodes.',
  example: examples.storeMemory,
  method: 'POST',
  path: '/v1/store/memories',
  access: { resource: 'store', action: 'write' },
  input: StoreMemory,
  reply: StoredMemory,
  handle: async ({ input, owner, newId, call }, { memory }) => {
    const { memory_type: memoryType, metadata = {} } = input;
    const [content, category] = [input.content.toWellFormed(), input.category.toWellFormed()];
    const memoryId = newId('memory');
    const request = { owner, memoryId, content, category, memoryType, metadataJson: jsonBytes(metadata) };
    const dedupe = input.options?.dedupe === true;
    const given = { ...threadOf(input.config), ...timesOf(input), ...(dedupe && { dedupe }) };
    const stored = await memory.store({ ...request, ...given }, call());
    return jsonObject({ memory_id: JSON.stringify(stored.memoryId) });
  },
});
