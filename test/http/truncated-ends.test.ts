import { sizes } from '@agent-workflow/kit/sizes';
import test from 'ava';
import { boulderBytes, boulders } from '../agents/boulders.ts';
import { user } from '../servers/client.ts';
import { serve } from './service.ts';
import { byLoad } from '../by-load.ts';

const { send, url } = serve(test, 'boulders');

interface Message {
  readonly message_id: string;
  readonly content: readonly { readonly text: string }[];
}

interface Result {
  readonly messages: readonly Message[];
  readonly all_messages: readonly Message[];
  readonly all_messages_truncated?: boolean;
  readonly meta: { readonly thread_id: string };
}

const body = { messages: [user('write')], response_granularity: 'low' };

for (const how of ['invoke', 'wait', 'stream'] as const) {
  test.serial(`a run that adds more than fits gives the newest that do, and says so: ${how}`, async (t) => {
    t.timeout(byLoad(120_000));
    const result = await resultBy(how);
    t.true(result.all_messages_truncated);
    t.true(Buffer.byteLength(JSON.stringify(result.all_messages)) <= sizes.page);
    const written = await idsWritten(result.meta.thread_id);
    t.is(written.length, boulders);
    t.deepEqual(
      result.all_messages.map(({ message_id: id }) => id),
      written.slice(-Math.floor(sizes.page / boulderBytes)),
    );
    t.true(result.all_messages.every(({ content }) => content[0]?.text.length === boulderBytes));
    t.deepEqual(result.messages, result.all_messages.slice(-1));
  });
}

test('a run whose messages fit does not say that any are left out', async (t) => {
  const { body: reply } = await send('POST', '/v1/graph/invoke', {
    messages: [user('write')],
    recursion_limit: 1,
    response_granularity: 'low',
  });
  const result = reply.data as Result;
  t.is(result.all_messages.length, 1);
  t.false('all_messages_truncated' in result);
});

async function resultBy(how: 'invoke' | 'wait' | 'stream'): Promise<Result> {
  if (how === 'invoke') return (await send('POST', '/v1/graph/invoke', body)).body.data;
  const started = (await send('POST', '/v1/runs', body)).body.data as { readonly run_id: string };
  const path = `/v1/runs/${started.run_id}`;
  if (how === 'wait') return (await send('GET', `${path}/wait`)).body.data;
  const text = (await (await fetch(`${url()}${path}/stream`)).text()).trimEnd();
  return (JSON.parse(text.slice(text.lastIndexOf('\ndata: ') + '\ndata: '.length)) as { readonly data: Result }).data;
}

/** Ids of what the thread's runs wrote, oldest first, whatever a page holds. */
async function idsWritten(threadId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ;) {
    const path = `/v1/threads/${threadId}/messages${cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`}`;
    const page = (await send('GET', path)).body.data as {
      readonly messages: readonly (Message & { readonly role: string })[];
      readonly has_more: boolean;
      readonly cursor?: string;
    };
    for (const { role, message_id: id } of page.messages) if (role === 'assistant') ids.push(id);
    if (!page.has_more) return ids;
    cursor = page.cursor ?? '';
  }
}
