import test from 'ava';
import { createReferenceClient, makeMessage, textMessage } from '../servers/reference-client.ts';
import { openGate } from '../servers/gate.ts';
import { replyText, serve } from './service.ts';

const service = serve(test);
const gated = serve(test, 'gated');
const client = () => createReferenceClient(service.url());

interface Message {
  readonly message_id: string;
  readonly role: string;
  readonly content: { readonly text?: string }[];
}

test('ping, graph and state schema are what the reference client reads', async (t) => {
  const { ping, graph, graphStateSchema } = client();
  const { data, metadata } = await ping();
  t.is(typeof data, 'string');
  for (const field of ['message', 'request_id', 'timestamp'] as const) t.is(typeof metadata[field], 'string');
  const drawn = (await graph()).data as Readonly<Record<string, unknown>>;
  const nodes = drawn['nodes'] as readonly { id: string; name: string }[];
  const edges = drawn['edges'] as readonly { id: string; source: string; target: string }[];
  t.true(nodes.some(({ id, name }) => id === 'obey' && name === 'obey'));
  t.is(new Set(edges.map(({ id }) => id)).size, edges.length);
  t.true(edges.some(({ source, target }) => source === 'tools' && target === 'obey'));
  t.like(drawn['info'], {
    node_count: nodes.length,
    edge_count: edges.length,
    state_fields: ['rounds', 'notes', 'context', 'context_summary'],
  });
  const schema = (await graphStateSchema()).data as Readonly<Record<string, unknown>>;
  t.like(schema, { type: 'object', required: [] });
  t.like(schema['properties'], {
    rounds: { type: 'number', description: 'Rounds worked', default: 0 },
    context: { type: 'array' },
  });
});

test('invoke runs remote tools until none is called, with tools that were set up', async (t) => {
  const reference = client();
  const { setup, invoke } = reference;
  reference.registerTool('look', ({ at }) => ({ seen: at }));
  const { data } = await setup();
  t.like(data, { success: true, registered_tools: 1 } as never);
  const result = await invoke([textMessage('call look')], { thread_id: 'invoked' });
  t.deepEqual(
    result.messages.map((message) => replyText(message as Message)),
    ['thank you'],
  );
  t.is(result.all.length, 3);
  t.like(result.data['meta'], { thread_id: 'invoked', is_new_thread: false });
  t.true(Array.isArray(result.data['context']));
  t.is(typeof result.data['summary'], 'string');
});

test('a stream runs remote tools too, and every chunk says its thread', async (t) => {
  const reference = client();
  reference.registerTool('look', () => 'a result');
  await reference.setup();
  const chunks = await Array.fromAsync(reference.stream([textMessage('call look')], { thread_id: 'streamed' }));
  t.is(chunks.filter(({ event }) => event === 'on_chain_end').length, 2);
  t.true(chunks.some(({ message }) => message && replyText(message) === 'thank you'));
  const firstEnd = chunks.findIndex(({ event }) => event === 'on_chain_end');
  for (const [index, { metadata, thread_id: threadId }] of chunks.entries()) {
    t.is(threadId, 'streamed');
    t.like(metadata, { thread_id: 'streamed', is_new_thread: index <= firstEnd });
  }
});

test('threads, their state and their messages are what the reference client reads', async (t) => {
  const api = client();
  await api.invoke([textMessage('hello')], { thread_id: 77 });
  t.like((await api.threadDetails(77)).data['thread_data'], { thread: { thread_id: '77' } });
  const { threads } = (await api.threads('search=77&offset=0&limit=5')).data as unknown as { threads: object[] };
  t.is(threads.length, 1);

  const { state } = (await api.updateThreadState(77, {}, { notes: ['a'] })).data as unknown as { state: object };
  t.like(state, { notes: ['a'] });
  t.deepEqual((await api.threadState(77)).data['state'], state as never);

  const added = (
    await api.addThreadMessages(77, [
      textMessage('one more'),
      makeMessage('assistant', [{ type: 'reasoning', summary: 'short' }]),
    ])
  ).data;
  t.like(added, { success: true, message: '2 messages added' } as never);
  const { messages } = (await api.threadMessages(77, 'offset=0&limit=10')).data as unknown as { messages: Message[] };
  t.is(messages.length, 4);
  const last = messages[2];
  const one = (await api.threadMessage(77, last?.message_id ?? '')).data;
  t.like(one, { ...last, message: last } as never);
  t.like((await api.deleteThreadMessage(77, last?.message_id ?? '')).data, { success: true } as never);

  t.like((await api.fixGraph('77')).data, { success: true, removed_count: 0 } as never);
  t.like((await api.stopGraph('77')).data, { success: false, thread_id: '77' } as never);
  t.like((await api.clearThreadState(77)).data, { success: true } as never);
  t.like((await api.deleteThread(77)).data, { success: true } as never);
  await t.throwsAsync(api.threadDetails(77), { message: /404/ });
});

test('a message with a field called message is read whole, both ways', async (t) => {
  const api = client();
  await api.invoke([textMessage('hello')], { thread_id: 'named' });
  const given = { ...textMessage('hello'), message_id: 'named', message: 'mine' };
  await api.addThreadMessages('named', [given]);
  const { message, role } = (await api.threadMessage('named', 'named')).data as unknown as {
    message: object;
    role: string;
  };
  t.like(message, { message_id: 'named', message: 'mine' });
  t.is(role, 'user');
});

test('a run that is stopped says of which thread', async (t) => {
  await using gate = await openGate();
  const api = createReferenceClient(gated.url());
  const running = api.invoke([textMessage('hello')], { thread_id: 'stopped', gate: gate.url });
  await gate.visited(1);
  t.like((await api.stopGraph('stopped')).data, { success: true, thread_id: 'stopped' } as never);
  await running;
});

test('memories are what the reference client reads', async (t) => {
  const api = client();
  const { memory_id: id } = (await api.storeMemory('green tea', 'semantic', 'drinks')).data as unknown as {
    memory_id: string;
  };
  const { results } = (await api.searchMemory('tea', 'semantic', 'drinks')).data as unknown as { results: object[] };
  t.like(results[0], { id, content: 'green tea', user_id: '', thread_id: '' });
  t.like((await api.getMemory(id)).data['memory'], { id, content: 'green tea' });
  t.like((await api.updateMemory(id, 'black tea')).data, { success: true, memory: { content: 'black tea' } } as never);
  const { memories } = (await api.listMemories()).data as unknown as { memories: object[] };
  t.is(memories.length, 1);
  t.like((await api.deleteMemory(id)).data, { success: true } as never);
  await api.storeMemory('white tea', 'semantic', 'leaves');
  t.like((await api.forgetMemories('leaves')).data, { success: true, deleted_count: 1 } as never);
});
