import { jsonObject } from '../../../../http/json.ts';
import { MemoryInput, MemoryParams, OneMemory } from '../../schemas/memories.ts';
import { endpoint } from '../common/endpoint.ts';
import { memoryText } from './memory-text.ts';
import * as examples from './examples.ts';

export const getMemory = endpoint({
  name: 'getMemory',
  tag: 'memories',
  summary: 'Get a memory',
  description: 'One memory, with its vector.',
  example: examples.getMemory,
  method: 'GET',
  path: '/v1/store/memories/{memory_id}',
  aliases: [{ method: 'POST', path: '/v1/store/memories/{memory_id}' }],
  access: { resource: 'store', action: 'read' },
  params: MemoryParams,
  input: MemoryInput,
  reply: OneMemory,
  handle: async ({ owner, params, call }, { memory }) => {
    const item = await memory.get({ owner, memoryId: params.memory_id }, call());
    return jsonObject({ memory: memoryText(item, owner) });
  },
});
