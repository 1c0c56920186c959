import test from 'ava';
import { user, type Reply } from '../servers/client.ts';
import { replyText, serve } from './service.ts';

const service = serve(test);

const tools = [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }];

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly call_id?: string;
  readonly output?: unknown;
}

interface ReplyMessage {
  readonly role: string;
  readonly content: readonly (Block & { readonly text?: string })[];
}

interface Result {
  readonly messages: readonly ReplyMessage[];
  readonly meta: { readonly status: string };
}

const answer = async (thread: string, output: string, strategy = 'enqueue'): Promise<Reply> =>
  service.send('POST', '/v1/graph/invoke', {
    messages: [{ role: 'tool', content: [{ type: 'tool_result', call_id: 'call-1', output }] }],
    config: { thread_id: thread, multitask_strategy: strategy },
    tools,
  });

const resultsOf = async (thread: string): Promise<unknown[]> => {
  const { messages } = (await service.send('GET', `/v1/threads/${thread}/messages`)).body.data as {
    messages: readonly ReplyMessage[];
  };
  return messages
    .flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
    .map(({ output }) => output);
};

for (const strategy of ['enqueue', 'reject', 'interrupt', 'rollback']) {
  test(`two tabs that answer one call at once (${strategy}): one goes on, the other is told, and there is one result`, async (t) => {
    for (let round = 0; round < 5; round++) {
      const thread = `tabs-${strategy}-${String(round)}`;
      const asked = await service.send('POST', '/v1/graph/invoke', {
        messages: [user('call look')],
        config: { thread_id: thread },
        tools,
      });
      t.is((asked.body.data as Result).meta.status, 'interrupted');
      const replies = await Promise.all(['here', 'there'].map(async (output) => answer(thread, output, strategy)));
      const completed = replies.filter(
        ({ status, body }) => status === 200 && (body.data as Result).meta.status === 'completed',
      );
      const others = replies.filter((reply) => !completed.includes(reply));
      t.is(completed.length, 1, JSON.stringify(replies.map(({ body }) => body)));
      t.deepEqual((completed[0]?.body.data as unknown as Result).messages.map(replyText), ['thank you']);
      for (const { status, body } of others) {
        // With a strategy that takes the thread from the first, its run is the one that was stopped.
        if (status === 200) t.is((body.data as Result).meta.status, 'stopped');
        else t.true(status === 400 || status === 409, JSON.stringify(body));
      }
      const results = await resultsOf(thread);
      t.is(results.length, 1);
      t.is(results[0], ['here', 'there'][replies.indexOf(completed[0] as Reply)]);
    }
  });
}
