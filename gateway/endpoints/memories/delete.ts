import { Done } from '../../schemas/common.ts';
import { MemoryInput, MemoryParams } from '../../schemas/memories.ts';
import { endpoint } from '../common/services.ts';

export const deleteMemory = endpoint({
  name: 'deleteMemory',
  tag: 'memories',
  summary: 'Delete a memory',
  method: 'DELETE',
  path: '/v1/store/memories/{memory_id}',
  access: { resource: 'store', action: 'delete' },
  params: MemoryParams,
  input: MemoryInput,
  reply: Done,
  handle: async ({ owner, params, once, call }, { memory }) => {
    await memory.delete({ owner, memoryId: params.memory_id, ...once }, call());
    return '{"success":true}';
  },
});
