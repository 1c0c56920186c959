import test from 'ava';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test);

interface Stored {
  readonly memory_id: string;
}

const note = { content: 'the boat is blue', memory_type: 'semantic', category: 'notes' };
const store = (body: object) => send('POST', '/v1/store/memories', body);

test('the same content stored with dedupe is one memory', async (t) => {
  const single: Stored = await data(t, 'storeMemory', store({ ...note, options: { dedupe: true } }));
  const again: Stored = await data(t, 'storeMemory', store({ ...note, options: { dedupe: true } }));
  const other: Stored = await data(t, 'storeMemory', store({ ...note, content: 'x', options: { dedupe: true } }));
  const plain: Stored = await data(t, 'storeMemory', store(note));
  t.is(again.memory_id, single.memory_id);
  t.is(new Set([single, again, other, plain].map(({ memory_id: id }) => id)).size, 3);
});

test('dedupe does not look at a memory that was stored without it, nor at one that was updated since, as the guide says', async (t) => {
  const leaf = { ...note, content: 'the tea is green' };
  const options = { dedupe: true };
  const idOf = async (body: object): Promise<string> => {
    const stored: Stored = await data(t, 'storeMemory', store(body));
    return stored.memory_id;
  };
  const plain = await idOf(leaf);
  const first = await idOf({ ...leaf, options });
  t.is((await send('PUT', `/v1/store/memories/${first}`, { content: 'the tea is black' })).status, 200);
  const second = await idOf({ ...leaf, options });
  const black = await idOf({ ...leaf, content: 'the tea is black', options });
  t.is(new Set([plain, first, second, black]).size, 4);
});

test('dedupe of another type is 422 and named, and null or another option changes nothing', async (t) => {
  const reply = store({ ...note, options: { dedupe: 'yes' } });
  t.deepEqual(await refused(t, reply, 422, codeOf(422)), [['body', 'options', 'dedupe']]);
  t.is((await store({ ...note, content: 'y', options: { dedupe: null, other: 'yes' } })).status, 200);
});
