import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf, type BoundMemory } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/memory.ts';

/** Memories that are found by a word of the query. */
function openMemory(): BoundMemory {
  const stored = new Map<string, { readonly content: string; readonly category: string }>();
  return {
    store: async ({ content, category = '' }) => {
      const id = String(stored.size);
      stored.set(id, { content, category });
      return id;
    },
    search: async (query, { category, limit = 10 } = {}) =>
      [...stored]
        .map(([id, memory]) => ({ id, ...memory, score: 1, memoryType: 'episodic', metadata: {} }))
        .filter((memory) => category === undefined || memory.category === category)
        .filter(({ content }) => query.split(/\W+/).some((word) => word.length > 3 && content.includes(word)))
        .slice(0, limit),
    delete: async (id) => void stored.delete(id),
  };
}

test('a fact of one thread is found in another', async () => {
  const memory = openMemory();
  const answerTo = async (text: string, threadId: string): Promise<string | undefined> => {
    const { state } = await walk(graph, { context: [user(text)], run: { memory, threadId } });
    return state.context.map(textOf).at(-1);
  };
  assert.equal(await answerTo('Which colour do I like?', 'one'), 'I do not know.');
  assert.equal(await answerTo('Remember that my favourite colour is green', 'one'), 'I will remember it.');
  assert.equal(await answerTo('Which colour do I like?', 'two'), 'You wrote: my favourite colour is green');
});
