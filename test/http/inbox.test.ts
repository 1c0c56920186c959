import test from 'ava';
import { user } from '../servers/client.ts';
import { serve } from './service.ts';

const { send, data } = serve(test, 'asking');

interface Inbox {
  readonly items: readonly {
    readonly thread_id: string;
    readonly run_id: string;
    readonly interrupts: readonly { readonly id: string; readonly value: unknown }[];
  }[];
  readonly has_more: boolean;
  readonly cursor?: string;
}

const inbox = async (t: Parameters<typeof data>[0], query = ''): Promise<Inbox> =>
  data(t, 'listInbox', send('GET', `/v1/inbox${query}`));

test('the inbox has what waits for an answer with its questions, until it is answered', async (t) => {
  const invoke = async (thread_id: string, body: object): Promise<void> => {
    const reply = await send('POST', '/v1/graph/invoke', { messages: [], ...body, config: { thread_id } });
    t.is(reply.status, 200);
  };
  t.deepEqual((await inbox(t)).items, []);
  for (const id of ['a', 'b', 'c']) await invoke(id, { messages: [user('go')] });
  const { items } = await inbox(t);
  t.deepEqual(
    items.map(({ thread_id }) => thread_id),
    ['c', 'b', 'a'],
  );
  t.deepEqual(
    items.map(({ interrupts }) => interrupts.map(({ value }) => value)),
    Array.from({ length: 3 }, () => [{ question: 'What is your name?' }]),
  );
  const page = await inbox(t, '?limit=2');
  t.true(page.has_more);
  t.deepEqual(
    (await inbox(t, `?limit=2&cursor=${page.cursor ?? ''}`)).items.map(({ thread_id }) => thread_id),
    ['a'],
  );
  const [question] = items[0]?.interrupts ?? [];
  await invoke('c', { resume: { [question?.id ?? '']: 'Ada' } });
  await invoke('c', { resume: 'green' });
  t.deepEqual(
    (await inbox(t)).items.map(({ thread_id }) => thread_id),
    ['b', 'a'],
  );
  const found = await send('POST', '/v1/threads/search', { waits_for: 'answer', select: ['thread_id', 'interrupts'] });
  t.is((found.body.data as { threads: { interrupts: unknown[] }[] }).threads[0]?.interrupts.length, 1);
});
