import { jsonObject } from '../../../../http/json.ts';
import { ListMemories, MemoryList } from '../../schemas/memories.ts';
import { nextPage, pageOf } from '../common/page.ts';
import { endpoint } from '../common/endpoint.ts';
import { memoriesText } from './memory-text.ts';
import { selectionOf } from './selection.ts';
import * as examples from './examples.ts';

/** The owner's memories that meet the conditions given, newest first. */
export const listMemories = endpoint({
  name: 'listMemories',
  tag: 'memories',
  summary: 'List memories, newest first',
  description:
    'The memories of the owner that meet every condition, those stored or updated last first, in pages. `total` is how many the same conditions would forget.',
  example: examples.listMemories,
  method: 'GET',
  path: '/v1/store/memories',
  aliases: [{ method: 'POST', path: '/v1/store/memories/list' }],
  access: { resource: 'store', action: 'read' },
  input: ListMemories,
  reply: MemoryList,
  handle: async ({ input, owner, call }, { memory }) => {
    const list = await memory.list({ owner, selection: selectionOf(input), ...pageOf(input) }, call());
    return jsonObject({
      memories: memoriesText(list.memories, owner),
      total: String(list.total),
      ...nextPage(list.cursor),
    });
  },
});
