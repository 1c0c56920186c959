import test from 'ava';
import { serveOpenai, user } from './service.ts';

const service = serveOpenai(test);

/** What the client says of a request that it sends again, after a reply that it has lost. */
const again = { headers: { 'x-stainless-retry-count': '1' } };

const historyOf = async (threadId: string): Promise<readonly string[]> => {
  const reply = await fetch(`${service.url()}/v1/threads/${threadId}/messages`);
  const { data } = (await reply.json()) as {
    readonly data: { readonly messages: readonly { readonly role: string }[] };
  };
  return data.messages.map(({ role }) => role);
};

test('a completion that is sent again after a lost reply is the turn that it was', async (t) => {
  const { completions } = service.client().chat;
  const given = { model: 'obedient', messages: [user('hello')], metadata: { thread_id: 'again' } };
  const first = await completions.create(given);
  const second = await completions.create(given, again);
  t.is(second.id, first.id);
  t.deepEqual(second.choices[0]?.message.content, first.choices[0]?.message.content);
  let streamed = '';
  for await (const { choices } of await completions.create({ ...given, stream: true }))
    streamed += choices[0]?.delta.content ?? '';
  t.deepEqual(await historyOf('again'), ['user', 'assistant', 'user', 'assistant']);
  for await (const { choices } of await completions.create({ ...given, stream: true }, again))
    streamed += choices[0]?.delta.content ?? '';
  t.is(streamed, 'you said helloyou said hello');
  t.deepEqual(await historyOf('again'), ['user', 'assistant', 'user', 'assistant']);
  // Another request, and the same by intent, are turns of their own.
  await completions.create({ ...given, messages: [user('hello'), user('more')] }, again);
  await completions.create(given);
  t.is((await historyOf('again')).length, 9);
});

test('a response that is sent again after a lost reply is the one that it was, also behind another', async (t) => {
  const { responses } = service.client();
  const first = await responses.create({ model: 'obedient', input: 'hello' });
  const next = { model: 'obedient', input: 'and now?', previous_response_id: first.id };
  const second = await responses.create(next);
  t.is((await responses.create(next, again)).id, second.id);
  t.not((await responses.create(next)).id, second.id);
  const conversation = await service.client().conversations.create({});
  const inside = { model: 'obedient', input: 'hello', conversation: conversation.id };
  const third = await responses.create(inside);
  t.is((await responses.create(inside, again)).id, third.id);
});

test('a response that went on in a copy is the one that it was when it is sent again, and the same by intent has a copy of its own', async (t) => {
  const { responses } = service.client();
  const first = await responses.create({ model: 'obedient', input: 'hello' });
  await responses.create({ model: 'obedient', input: 'one way', previous_response_id: first.id });
  const other = { model: 'obedient', input: 'another', previous_response_id: first.id };
  const inCopy = await responses.create(other);
  t.is((await responses.create(other, again)).id, inCopy.id);
  const together = await Promise.all(Array.from({ length: 4 }, () => responses.create(other)));
  const threadsOf = await Promise.all(
    [inCopy, ...together].map(async ({ id }) => {
      const run = await fetch(
        `${service.url()}/v1/runs/${id.replace(/^resp_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')}`,
      );
      return ((await run.json()) as { readonly data: { readonly thread_id: string } }).data.thread_id;
    }),
  );
  t.is(new Set(threadsOf).size, 5);
  for (const id of threadsOf) t.deepEqual(await historyOf(id), ['user', 'assistant', 'user', 'assistant']);
});

test('a response that is sent again while its first attempt begins is one turn, also where that makes a copy', async (t) => {
  const { responses } = service.client();
  for (let round = 0; round < 4; round++) {
    const first = await responses.create({ model: 'obedient', input: `hello ${String(round)}` });
    const next = (input: string) => ({ model: 'obedient', input, previous_response_id: first.id });
    const attempts = (input: string) =>
      Promise.all([
        responses.create(next(input)),
        responses.create(next(input), again),
        responses.create(next(input), again),
      ]);
    const inThread = await attempts('one way');
    const inCopy = await attempts('another');
    t.deepEqual([new Set(inThread.map(({ id }) => id)).size, new Set(inCopy.map(({ id }) => id)).size], [1, 1]);
  }
});

test('results of functions that are sent again after a lost reply go on with one run', async (t) => {
  const { completions } = service.client().chat;
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
  const metadata = { thread_id: 'looks' };
  const asked = await completions.create({ model: 'obedient', messages: [user('call look')], tools, metadata });
  const message = asked.choices[0]?.message;
  const [call] = message?.tool_calls ?? [];
  if (!message || !call) throw new Error('no function is called');
  const messages = [user('call look'), message, { role: 'tool' as const, tool_call_id: call.id, content: 'a cat' }];
  const first = await completions.create({ model: 'obedient', messages, tools, metadata });
  const second = await completions.create({ model: 'obedient', messages, tools, metadata }, again);
  t.is(second.id, first.id);
  t.deepEqual(await historyOf('looks'), ['user', 'assistant', 'tool', 'assistant']);
});
