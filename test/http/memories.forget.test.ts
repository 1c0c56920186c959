import test from 'ava';
import type { Reply } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const { send, data, refused } = serve(test);

const forget = (body?: object) => send('POST', '/v1/store/memories/forget', body);
const store = async (body: object): Promise<string> => {
  const given = { content: 'x', memory_type: 'semantic', category: 'any', ...body };
  return ((await send('POST', '/v1/store/memories', given)).body.data as { memory_id: string }).memory_id;
};

test.serial('what matches is forgotten, and named', async (t) => {
  const kept = await store({ category: 'kept' });
  for (const [fields, narrowing] of [
    [{ memory_type: 'episodic' }, { memory_type: 'episodic' }],
    [{ category: 'gone' }, { category: 'gone' }],
    [{ config: { thread_id: 't' } }, { config: { thread_id: 't' } }],
    [{ metadata: { level: 3 } }, { filters: { level: { $gt: 2 } } }],
  ]) {
    const id = await store(fields ?? {});
    const forgotten = await data(t, 'forgetMemories', forget(narrowing));
    t.deepEqual(forgotten, { deleted_count: 1, has_more: false, memory_ids: [id], success: true } as never);
    await refused(t, send('GET', `/v1/store/memories/${id}`), 404, codeOf(404));
  }
  t.is((await send('GET', `/v1/store/memories/${kept}`)).status, 200);
});

test.serial('a body without a condition selects nothing, forgets nothing, and says how all is forgotten', async (t) => {
  const id = await store({});
  for (const body of [undefined, {}, { config: {} }, { filters: {} }, { options: {} }, { options: { all: false } }]) {
    const { message, ...reply } = (await data(t, 'forgetMemories', forget(body))) as { message: string };
    t.deepEqual(reply as unknown, { deleted_count: 0, has_more: false, memory_ids: [], success: true });
    t.regex(message, /nothing was deleted.*options \{"all": true\}/);
    t.is((await forget(body)).body.metadata['message'], message);
  }
  t.is((await send('GET', `/v1/store/memories/${id}`)).status, 200);
});

test.serial('a request that selects nothing is answered alike when it is sent again', async (t) => {
  const again = (): Promise<Reply> =>
    send('POST', '/v1/store/memories/forget', {}, { 'idempotency-key': 'nothing selected' });
  t.deepEqual((await again()).body.data, (await again()).body.data);
});

test.serial('all of the owner is forgotten when that is asked for', async (t) => {
  await store({});
  const { deleted_count: count } = (await data(t, 'forgetMemories', forget({ options: { all: true } }))) as {
    deleted_count: number;
  };
  t.true(count >= 1);
  t.like(await data(t, 'listMemories', send('GET', '/v1/store/memories')), { total: 0 });
});

test('fields of the wrong type or range are 422 and named', async (t) => {
  t.deepEqual(await refused(t, forget({ memory_type: 'vague' }), 422, codeOf(422)), [['body', 'memory_type']]);
  t.deepEqual(await refused(t, forget({ category: 5 }), 422, codeOf(422)), [['body', 'category']]);
  t.deepEqual(await refused(t, forget({ filters: 'x' }), 422, codeOf(422)), [['body', 'filters']]);
  t.deepEqual(await refused(t, forget({ options: { all: 'true' } }), 422, codeOf(422)), [['body', 'options', 'all']]);
});
