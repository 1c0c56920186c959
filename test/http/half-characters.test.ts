import test from 'ava';
import { serve } from './service.ts';

const { send, data } = serve(test);

/** A text that was cut within an emoji, and what is kept of it. */
const cut = 'tea \ud83d';
const kept = 'tea \ufffd';

const store = (text: string) =>
  send('POST', '/v1/store/memories', {
    content: text,
    memory_type: 'semantic',
    category: text,
    metadata: { note: text },
    options: { dedupe: true },
  });

test('half of an emoji is one sign in a memory, which is the same memory by either', async (t) => {
  const { memory_id: id }: { memory_id: string } = await data(t, 'storeMemory', store(cut));
  t.is(((await data(t, 'storeMemory', store(cut))) as { memory_id: string }).memory_id, id);
  const path = `/v1/store/memories/${id}`;
  const { memory }: Stored = await data(t, 'getMemory', send('GET', path));
  t.deepEqual([memory.content, memory.category, memory.metadata], [kept, kept, { note: cut }]);
  const list: { total: number } = await data(
    t,
    'listMemories',
    send('POST', '/v1/store/memories/list', { category: cut }),
  );
  t.is(list.total, 1);
  const { memory: updated }: Stored = await data(t, 'updateMemory', send('PUT', path, { content: `${cut}!` }));
  t.is(updated.content, `${kept}!`);
});

interface Stored {
  readonly memory: { readonly content: string; readonly category: string; readonly metadata: unknown };
}

test('half of an emoji is one sign in the name of a thread', async (t) => {
  const config = { thread_id: 'half', thread_name: cut };
  await data(
    t,
    'invokeGraph',
    send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content: 'hello' }], config }),
  );
  const { thread_name: name }: { thread_name: string } = await data(t, 'getThread', send('GET', '/v1/threads/half'));
  t.is(name, kept);
});
