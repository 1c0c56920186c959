import { jsonObject } from '../../http/json.ts';
import { ListMemories, MemoryList } from '../../schemas/memories.ts';
import { nextPage, pageOf } from '../common/page.ts';
import { endpoint } from '../common/services.ts';
import { memoriesText } from './memory-text.ts';
import { threadOf } from './selection.ts';
import * as examples from './examples.ts';

/** The owner's memories, newest first. */
export const listMemories = endpoint({
  name: 'listMemories',
  tag: 'memories',
  summary: 'List memories, newest first',
  description: 'The memories of the owner, newest first, in pages.',
  example: examples.listMemories,
  method: 'GET',
  path: '/v1/store/memories',
  aliases: [{ method: 'POST', path: '/v1/store/memories/list' }],
  access: { resource: 'store', action: 'read' },
  input: ListMemories,
  reply: MemoryList,
  handle: async ({ input, owner, call }, { memory }) => {
    const list = await memory.list({ owner, selection: threadOf(input.config), ...pageOf(input) }, call());
    return jsonObject({
      memories: memoriesText(list.memories, owner),
      total: String(list.total),
      ...nextPage(list.cursor),
    });
  },
});
