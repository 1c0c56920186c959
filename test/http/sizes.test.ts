import { sizes } from '@agent-workflow/kit/sizes';
import test from 'ava';
import { user } from '../servers/client.ts';
import { serve } from './service.ts';

const { send, data, refused, thread } = serve(test);

/** An object whose JSON has so many bytes. */
const sized = (bytes: number): Readonly<Record<string, string>> => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
const tooLarge = sized(sizes.metadata + 1);
const messages = [user('hello')];

const tooLargeIs = (t: Parameters<typeof refused>[0], reply: ReturnType<typeof send>): Promise<unknown[]> =>
  refused(t, reply, 422, 'VALIDATION_ERROR');

const threadCount = async (): Promise<number> => {
  const { body } = await send('GET', '/v1/threads');
  return (body.data as { threads: unknown[] }).threads.length;
};

for (const path of ['/v1/graph/invoke', '/v1/graph/stream', '/v1/runs']) {
  test(`metadata and config of more than 256 KiB are refused by name at ${path}, and no thread is made`, async (t) => {
    const id = `refused-${path.slice('/v1/'.length).replaceAll('/', '-')}`;
    const run = (config: object): ReturnType<typeof send> =>
      send('POST', path, { messages, config: { thread_id: id, ...config } });
    t.deepEqual(await tooLargeIs(t, run({ metadata: tooLarge })), [['body', 'config', 'metadata']]);
    t.deepEqual(await tooLargeIs(t, run(tooLarge)), [['body', 'config']]);
    t.is((await send('GET', `/v1/threads/${id}`)).status, 404);
  });
}

test('the metadata of added messages is refused by name above 256 KiB, and kept up to it', async (t) => {
  await thread('annotated');
  const add = (metadata: object): ReturnType<typeof send> =>
    send('POST', '/v1/threads/annotated/messages', { messages, metadata });
  t.deepEqual(await tooLargeIs(t, add(tooLarge)), [['body', 'metadata']]);
  await data(t, 'addMessages', add(sized(sizes.metadata)));
});

test.serial('the metadata of a fork is refused by name above 256 KiB, and no thread is made', async (t) => {
  await thread('trunk');
  const { body } = await send('GET', '/v1/threads/trunk/checkpoints');
  const [newest] = (body.data as { checkpoints: { checkpoint_id: string }[] }).checkpoints;
  const before = await threadCount();
  const config = { metadata: tooLarge };
  const fork = send('POST', '/v1/threads/trunk/fork', { checkpoint_id: newest?.checkpoint_id, config });
  t.deepEqual(await tooLargeIs(t, fork), [['body', 'config', 'metadata']]);
  t.is(await threadCount(), before);
});

test('what a thread is named with is kept up to 256 KiB', async (t) => {
  const metadata = sized(sizes.metadata - 200);
  await data(
    t,
    'invokeGraph',
    send('POST', '/v1/graph/invoke', { messages, config: { thread_id: 'named', metadata } }),
  );
  t.like(await data(t, 'getThread', send('GET', '/v1/threads/named')), { metadata });
});
