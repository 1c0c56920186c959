import { Done } from '../../schemas/common.ts';
import { MemoryInput, MemoryParams } from '../../schemas/memories.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

export const deleteMemory = endpoint({
  name: 'deleteMemory',
  tag: 'memories',
  summary: 'Delete a memory',
  description: 'Deletes a memory for good.',
  example: examples.deleteMemory,
  method: 'DELETE',
  path: '/v1/store/memories/{memory_id}',
  access: { resource: 'store', action: 'delete' },
  params: MemoryParams,
  input: MemoryInput,
  reply: Done,
  handle: async ({ owner, params, idempotency, call }, { memory }) => {
    await memory.delete({ owner, memoryId: params.memory_id, ...idempotency }, call());
    return '{"success":true}';
  },
});
