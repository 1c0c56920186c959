import test from 'ava';
import { createClient } from './client.ts';
import { answerCall } from './remote-tools.ts';
import type { RunRequest } from './shapes/runs.ts';

const call = { id: 'c', name: 'locate', args: {} };
const request: RunRequest = { messages: [{ role: 'user', content: 'Where am I?' }] };

const circle: Record<string, unknown> = {};
circle['self'] = circle;

for (const [title, output] of [
  ['a circular object', circle],
  ['a BigInt', { metres: 1n }],
  ['a function', () => 1],
] as const) {
  test(`a result that JSON cannot hold is the tool's error, in one line: ${title}`, async (t) => {
    const answer = await answerCall(call, { name: 'locate', run: () => output });
    t.like(answer, { type: 'tool_result', call_id: 'c', status: 'failed', is_error: true });
    t.regex(String(answer['output']), /^the tool gave a result that JSON cannot hold: .+$/);
  });
}

test('a run continues after a tool whose result JSON cannot hold', async (t) => {
  const asked: string[] = [];
  const open = {
    messages: [{ role: 'assistant', content: [{ type: 'remote_tool_call', ...call }] }],
    all_messages: [],
    meta: { status: 'interrupted', thread_id: 't' },
  };
  const ended = { messages: [], all_messages: [], meta: { status: 'completed', thread_id: 't' } };
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      asked.push(init?.body as string);
      return Promise.resolve(new Response(JSON.stringify({ data: asked.length === 1 ? open : ended })));
    },
  });
  const { meta } = await client.invoke(request, { tools: [{ name: 'locate', run: () => circle }] });
  t.is(meta.status, 'completed');
  t.like(JSON.parse(asked[1] ?? ''), { messages: [{ role: 'tool', content: [{ call_id: 'c', is_error: true }] }] });
});

test('a tool may throw what has no text', async (t) => {
  const tool = {
    name: 'odd',
    run: () => {
      throw Object.create(null);
    },
  };
  const { status, output } = await answerCall({ id: 'c1', name: 'odd', args: {} }, tool);
  t.deepEqual([status, output], ['failed', 'the tool threw a value that has no text']);
});

test('a tool without a function to run is refused by its name, before anything is sent', async (t) => {
  let requests = 0;
  const client = createClient({
    url: 'http://service.test',
    fetch: () => {
      requests += 1;
      return Promise.resolve(new Response('{}'));
    },
  });
  const tool = { name: 'locate' } as Parameters<typeof answerCall>[1];
  const refusal = { instanceOf: TypeError, message: 'the tool "locate" must have a function `run`' };
  await t.throwsAsync(client.invoke(request, { tools: [tool] }), refusal);
  await t.throwsAsync(client.stream(request, { tools: [tool] }).next(), refusal);
  await t.throwsAsync(answerCall(call, tool), refusal);
  t.is(requests, 0);
});

/** A service whose replies are these, the last of them again and again. */
function serviceOf(...replies: readonly object[]) {
  const asked: { readonly messages: unknown; readonly tools?: readonly { readonly name: string }[] }[] = [];
  const client = createClient({
    url: 'http://service.test',
    fetch: (_address, init) => {
      asked.push(JSON.parse(init?.body as string) as (typeof asked)[number]);
      return Promise.resolve(new Response(JSON.stringify({ data: replies[asked.length - 1] ?? replies.at(-1) })));
    },
  });
  return { client, asked };
}

const message = (id: string, ...names: readonly string[]) => ({
  message_id: id,
  role: 'assistant',
  content: names.map((name) => ({ type: 'remote_tool_call', id: `${id}-${name}`, name, args: {} })),
});
const waiting = (messages: readonly object[], meta: object = {}) => ({
  ...{ messages: messages.slice(-1), all_messages: messages },
  meta: { status: 'interrupted', thread_id: 't', is_new_thread: false, ...meta },
});
const completed = (messages: readonly object[]) => waiting(messages, { status: 'completed' });

test('tools of the request are offered beside those that run here, and a call of them interrupts', async (t) => {
  const { client, asked } = serviceOf(waiting([message('1', 'mine', 'locate')]), waiting([message('1', 'mine')]));
  const own = { ...request, tools: [{ name: 'mine' }] };
  const { meta } = await client.invoke(own, { tools: [{ name: 'locate', run: () => 'here' }] });
  t.is(meta.status, 'interrupted');
  t.deepEqual(
    asked.map(({ tools }) => tools?.map(({ name }) => name)),
    [
      ['mine', 'locate'],
      ['mine', 'locate'],
    ],
  );
  t.like(asked[1], { messages: [{ role: 'tool', content: [{ call_id: '1-locate', output: 'here' }] }] });
});

test('a tool that is both of the request and of the options is refused by its name, before anything is sent', async (t) => {
  const { client, asked } = serviceOf(completed([]));
  const refusal = { instanceOf: TypeError, message: /^the tool "locate" must stand in the request or in the options/ };
  const both = { ...request, tools: [{ name: 'locate' }] };
  for (const declaredBy of ['request', 'graph'] as const) {
    const options = { tools: [{ name: 'locate', declaredBy, run: () => 'here' }] };
    await t.throwsAsync(client.invoke(both, options), refusal);
    await t.throwsAsync(client.stream(both, options).next(), refusal);
  }
  t.deepEqual(asked, []);
});

test('the result of a request with tools is of all its rounds: each message once, and whether the thread is new', async (t) => {
  const { client } = serviceOf(
    { ...waiting([message('1'), message('2', 'locate')], { is_new_thread: true }), all_messages_truncated: true },
    waiting([message('2', 'locate')]),
    completed([message('3')]),
  );
  const tools = [{ name: 'locate', run: () => 'here' }];
  const { all_messages, meta, ...result } = await client.invoke(request, { tools });
  t.like(meta, { is_new_thread: true, status: 'completed' });
  t.deepEqual(
    all_messages.map(({ message_id: id }) => id),
    ['1', '2', '3'],
  );
  t.true(result.all_messages_truncated);
});

test('a request ends with its signal while a tool is busy, whatever the tool does later', async (t) => {
  const called = waiting([message('1', 'locate')]);
  const event = { event: 'on_chain_end', data: called, run_id: 'r' };
  for (const late of [() => 'here', () => Promise.reject(new Error('too late'))]) {
    const { client } = serviceOf(called);
    const streaming = createClient({
      url: 'http://service.test',
      fetch: () => Promise.resolve(new Response(`id: r:1\ndata: ${JSON.stringify(event)}\n\n`)),
    });
    for (const send of [
      client.invoke,
      (...given: Parameters<typeof client.stream>) => drain(streaming.stream(...given)),
    ]) {
      const controller = new AbortController();
      const busy = Promise.withResolvers<undefined>();
      const run = () => {
        queueMicrotask(() => controller.abort(new Error('enough')));
        return busy.promise.then(late);
      };
      const sent = send(request, { tools: [{ name: 'locate', run }], signal: controller.signal });
      await t.throwsAsync(sent, { message: 'enough' });
      busy.resolve(undefined);
    }
  }
});

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}
