import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '@agent-workflow/kit/ids';
import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(
  test,
  {},
  { typing: agentAt('typing'), sends: agentAt('lang-graph-tasks').replace(/:graph$/, ':sends') },
);

const order = (content: string) => ({ input: { messages: [{ role: 'user', content }] } });
const channels = ['values', 'updates', 'messages', 'tools', 'lifecycle', 'input', 'checkpoints', 'tasks', 'custom'];
const words = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

interface Event {
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: { readonly namespace: readonly string[]; readonly node?: string; readonly data: Data };
}
interface Data {
  readonly event?: string;
  readonly [name: string]: unknown;
}

/** Reads the events of a thread until `isEnough`. */
async function read(
  threadId: string,
  body: object,
  isEnough: (event: Event, events: readonly Event[]) => boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<Event[]> {
  const controller = new AbortController();
  const response = await fetch(`${service.url()}/threads/${threadId}/stream/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.any([controller.signal, AbortSignal.timeout(20_000)]),
  });
  if (!response.ok || !response.body) throw new Error(`${String(response.status)} ${await response.text()}`);
  const events: Event[] = [];
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const json = /^data: (.*)$/m.exec(block)?.[1];
      if (json === undefined) continue;
      const event = JSON.parse(json) as Event;
      events.push(event);
      if (!isEnough(event, events)) continue;
      controller.abort();
      return events;
    }
  }
  return events;
}

const isEnd = ({ method, params: { data } }: Event): boolean =>
  method === 'lifecycle' && ['completed', 'failed', 'interrupted'].includes(data.event ?? '');

const command = async (threadId: string, method: string, params: object, id = 1): Promise<Data> =>
  (await service.send('POST', `/threads/${threadId}/commands`, { id, method, params })).body as Data;

const start = (threadId: string, content: string, assistant = graphId): Promise<Data> =>
  command(threadId, 'run.start', { assistant_id: assistant, ...order(content) });

test('a run that a command starts is told in every channel, and an answer goes on', async (t) => {
  const id = newId();
  const started = await start(id, 'please ask');
  t.like(started, { type: 'success', id: 1 });
  const events = await read(id, { channels }, isEnd);
  t.deepEqual(
    events.map(({ method }) => method).filter((name, index, all) => name !== all[index - 1]),
    [
      ...[
        'lifecycle',
        'checkpoints',
        'values',
        'tasks',
        'custom',
        'messages',
        'updates',
        'tasks',
        'checkpoints',
        'values',
      ],
      ...['tasks', 'input.requested', 'lifecycle'],
    ],
  );
  t.deepEqual(
    events.filter(({ method }) => method === 'lifecycle').map(({ params }) => params.data),
    [
      { event: 'running', graph_name: graphId },
      { event: 'interrupted', graph_name: graphId },
    ],
  );
  const messages = events.filter(({ method }) => method === 'messages').map(({ params }) => params.data);
  t.deepEqual(
    messages.map(({ event }) => event).filter((name, index, all) => name !== all[index - 1]),
    ['message-start', 'content-block-start', 'content-block-delta', 'content-block-finish', 'message-finish'],
  );
  t.like(messages.at(-2), { content: { type: 'text', text: 'pale blue sky over hills' } });
  const asked = events.find(({ method }) => method === 'input.requested')?.params.data;
  t.like(asked, { payload: { question: 'go on?' } });
  const answered = await command(id, 'input.respond', {
    ...{ namespace: [], interrupt_id: asked?.['interrupt_id'], response: 'yes' },
  });
  t.like(answered, { type: 'success', result: {} });
  let ends = 0;
  const all = await read(id, { channels }, (event) => isEnd(event) && ++ends === 2);
  t.deepEqual(all.slice(0, events.length), events, 'the same ids and numbers in every replay');
  t.like(all.at(-1)?.params.data, { event: 'completed' });
  t.true(all.some(({ method, params }) => method === 'input.answered' && 'interrupt_ids' in params.data));
  t.is(new Set(all.map(({ event_id: own }) => own)).size, all.length, 'no id twice');
  t.deepEqual(
    all.map(({ seq }) => seq),
    all.map(({ seq }) => seq).toSorted((one, other) => one - other),
  );
  const through = (answered['meta'] as { readonly applied_through_seq: number }).applied_through_seq;
  t.true(all.slice(0, events.length).every(({ seq }) => seq < through));
  t.true(all.slice(events.length).every(({ seq }) => seq > through));
});

test('a reader goes on after any event, by its id and by its number', async (t) => {
  const id = newId();
  await start(id, 'hello');
  const whole = await read(id, { channels }, isEnd);
  const idsOf = (events: readonly Event[]): string[] => events.map(({ event_id: own }) => own);
  for (const [index, { event_id: own, seq }] of whole.slice(0, -1).entries()) {
    const rest = whole.slice(index + 1);
    t.deepEqual(await read(id, { channels, since: seq }, isEnd), rest, `since ${String(seq)}`);
    const byNumber = await read(id, { channels }, isEnd, { 'last-event-id': String(seq) });
    t.deepEqual(byNumber, rest, `after ${String(seq)}`);
    const again = idsOf(await read(id, { channels }, isEnd, { 'last-event-id': own }));
    if (/^\d+-\d+$/.test(own)) t.deepEqual(again, idsOf(whole).slice(idsOf(whole).indexOf(again[0] ?? '')), own);
    else t.deepEqual(again, idsOf(whole), own);
    t.true(again.includes(idsOf(whole)[index + 1] ?? ''));
  }
});

/** Reads a run as a client that is cut after each event, and goes on after the highest number that it has seen. */
async function readCut(threadId: string, asked: readonly string[]): Promise<Event[]> {
  const events: Event[] = [];
  let since = 0;
  for (;;) {
    const [event] = await read(threadId, { channels: asked, since }, () => true);
    if (!event) throw new Error('the stream ended');
    events.push(event);
    since = Math.max(since, event.seq);
    if (isEnd(event)) return events;
  }
}

for (const assistant of [graphId, 'sends'])
  test(`a reader that is cut after each event gets every event once, in any channels, of ${assistant}`, async (t) => {
    const id = newId();
    const input = assistant === 'sends' ? { mode: 'ask' } : order('please ask').input;
    await command(id, 'run.start', { assistant_id: assistant, input });
    const whole = await read(id, { channels }, isEnd);
    const seqs = whole.map(({ seq }) => seq);
    t.deepEqual(
      seqs,
      [...new Set(seqs)].toSorted((one, other) => one - other),
      'each has a number of its own',
    );
    for (const asked of [channels, ['lifecycle', 'values', 'checkpoints'], ['lifecycle', 'updates', 'tasks', 'input']])
      t.deepEqual(
        await readCut(id, asked),
        whole.filter(({ method }) => asked.some((channel) => method === channel || method.startsWith(`${channel}.`))),
        asked.join(),
      );
  });

test('what comes is what is asked for, under the same ids', async (t) => {
  const id = newId();
  await start(id, 'hello');
  const whole = await read(id, { channels }, isEnd);
  for (const channel of channels.filter((name) => name !== 'lifecycle')) {
    const own = await read(id, { channels: [channel, 'lifecycle'] }, isEnd);
    const isOf = ({ method }: Event): boolean => method.startsWith(channel) || method === 'lifecycle';
    t.deepEqual(own, whole.filter(isOf), channel);
  }
  const named = await read(id, { channels: ['custom:other', 'lifecycle'] }, isEnd);
  t.true(named.every(({ method }) => method === 'lifecycle'));
  const root = await read(id, { channels, namespaces: [[]], depth: 1 }, isEnd);
  t.deepEqual(root, whole);
});

test('a stream may be opened before its thread is there, and several runs follow each other in it', async (t) => {
  const id = newId();
  let ends = 0;
  const reading = read(id, { channels: ['lifecycle', 'messages'] }, (event) => isEnd(event) && ++ends === 2);
  await delay(500);
  const { run_id: first } = (await start(id, 'hello'))['result'] as { readonly run_id: string };
  const { run_id: second } = (await start(id, 'again'))['result'] as { readonly run_id: string };
  const events = await reading;
  t.deepEqual(
    events.filter(({ method }) => method === 'lifecycle').map(({ event_id: own }) => own.split(':')[1]),
    [first, first, second, second],
  );
});

test('a tool is told from its call to its result, and a node reports under a name', async (t) => {
  const id = newId();
  await start(id, 'what time is it', 'typing');
  const asked = { channels: ['tools', 'messages', 'custom:pace', 'lifecycle'] };
  const events = await read(id, asked, isEnd);
  t.deepEqual(await read(id, asked, isEnd), events);
  const tools = events.filter(({ method }) => method === 'tools').map(({ params }) => params.data);
  t.like(tools[0], { event: 'tool-started', tool_name: 'clock', input: { zone: 'UTC' } });
  t.like(tools[1], { event: 'tool-finished', output: { type: 'tool', content: 'noon' } });
  t.is(tools.length, 2);
  t.is(tools[0]?.['tool_call_id'], tools[1]?.['tool_call_id']);
  const blocks = events.flatMap(({ params: { data } }) =>
    data.event === 'content-block-finish' ? [data['content']] : [],
  );
  t.like(blocks[0], { type: 'tool_call', name: 'clock', args: { zone: 'UTC' } });
  t.like(blocks[1], { type: 'text', text: words });
  t.deepEqual(events.find(({ method }) => method === 'custom')?.params.data, { name: 'pace', payload: { words: 30 } });
});

test('a command that cannot be done says why, and the request is a success', async (t) => {
  const id = newId();
  const code = async (method: string, params: object): Promise<unknown> => {
    const { status, body } = await service.send('POST', `/threads/${id}/commands`, { id: 7, method, params });
    t.is(status, 200, method);
    t.like(body, { type: 'error', id: 7 });
    return (body as Data)['error'];
  };
  t.is(await code('no.such', {}), 'unknown_command');
  t.is(await code('constructor', {}), 'unknown_command');
  t.is(await code('agent.getTree', {}), 'no_such_run');
  t.is(await code('input.inject', { namespace: [], message: { role: 'user', content: 'x' } }), 'not_supported');
  t.is(await code('run.start', { input: {} }), 'invalid_argument');
  t.is(await code('run.start', { assistant_id: 'nobody', input: {} }), 'invalid_argument');
  t.is(await code('run.start', { assistant_id: graphId, input: { messages: 1 } }), 'invalid_argument');
  t.is(await code('input.respond', { namespace: [], interrupt_id: 'x', response: 1 }), 'no_such_interrupt');
  await start(id, 'hello');
  await read(id, { channels: ['lifecycle'] }, isEnd);
  t.is(await code('input.respond', { namespace: [], interrupt_id: 'x', response: 1 }), 'no_such_interrupt');
  t.is(await code('input.respond', { namespace: [], response: 1 }), 'invalid_argument');
  const bare = await service.send('POST', `/threads/${id}/commands`, { method: 'run.start' });
  t.is(bare.status, 422);
});

test('the tree of a run that is under way is its root', async (t) => {
  const id = newId();
  await start(id, 'slow');
  t.like(await command(id, 'agent.getTree', {}), {
    result: { tree: { namespace: [], graph_name: graphId } },
  });
  const rejected = await command(id, 'run.start', {
    assistant_id: graphId,
    ...order('x'),
    multitask_strategy: 'reject',
  });
  t.like(rejected, { type: 'error', error: 'invalid_argument' });
  const { result } = await command(id, 'run.start', {
    assistant_id: graphId,
    ...order('x'),
    multitaskStrategy: 'interrupt',
  });
  const { run_id: run } = result as { readonly run_id: string };
  const events = await read(id, { channels: ['lifecycle'] }, (event) => isEnd(event) && event.event_id.includes(run));
  t.deepEqual(
    events.map(({ params }) => params.data.event),
    ['running', 'interrupted', 'running', 'completed'],
  );
});

test('the body of a stream has the keys that are known, and no others', async (t) => {
  const id = newId();
  for (const body of [{ channels: ['values'], extra: 1 }, { channels: ['everything'] }, { channels: [] }, {}]) {
    const { status } = await service.send('POST', `/threads/${id}/stream/events`, body);
    t.is(status, 422, JSON.stringify(body));
  }
});

test('a branch begins at a checkpoint that the events name', async (t) => {
  const id = newId();
  await start(id, 'hello');
  const events = await read(id, { channels: ['checkpoints', 'values', 'lifecycle'] }, isEnd);
  const first = events.find(({ method }) => method === 'checkpoints')?.params.data;
  t.like(first, { step: -1, source: 'input' });
  const begun = events.filter(({ method }) => method === 'checkpoints')[1]?.params.data;
  t.like(begun, { step: 0, source: 'loop', parent_id: first?.['id'] });
  await start(id, 'again');
  let ends = 0;
  await read(id, { channels: ['lifecycle'] }, (event) => isEnd(event) && ++ends === 2);
  await command(id, 'run.start', {
    ...{ assistant_id: graphId, ...order('other') },
    config: { configurable: { checkpoint_id: first?.['id'] } },
  });
  ends = 0;
  await read(id, { channels: ['lifecycle'] }, (event) => isEnd(event) && ++ends === 3);
  const { values } = await service.client().threads.getState<{ messages: { content: string }[] }>(id);
  t.deepEqual(
    values.messages.map(({ content }) => content),
    ['other', 'pale blue sky over hills'],
  );
});

test("LangGraph's client streams a run, its messages, its values and its tools", async (t) => {
  const thread = service.client().threads.stream({ assistantId: 'typing' });
  const texts: string[] = [];
  const reading = (async () => {
    for await (const message of thread.messages) texts.push(await message.text);
  })();
  // The client gives a call when it starts, and again when it has ended.
  const calls = new Map<string, unknown>();
  const calling = (async () => {
    for await (const call of thread.toolCalls) calls.set(call.callId, { name: call.name, output: await call.output });
  })();
  await thread.run.start(order('what time is it'));
  const output = (await thread.output) as { readonly messages: readonly unknown[] };
  await Promise.all([reading, calling]);
  t.deepEqual(texts, ['', words]);
  t.deepEqual([...calls.values()], [{ name: 'clock', output: 'noon' }]);
  t.is(output.messages.length, 4);
  await thread.close();
});

test("LangGraph's client answers a question, and is cut without losing anything", async (t) => {
  let cuts = 0;
  const cutting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input instanceof Request ? input.url : input).endsWith('/stream/events') || !response.body)
      return response;
    let bytes = 0;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes += chunk.byteLength;
        controller.enqueue(chunk);
        if (bytes < 4000 || cuts >= 6) return;
        cuts += 1;
        controller.error(new TypeError('terminated'));
      },
    });
    return new Response(response.body.pipeThrough(cut), response);
  };
  const thread = service.client().threads.stream({
    ...{ assistantId: 'typing', fetch: cutting, reconnectDelayMs: () => 10, maxReconnectAttempts: 20 },
  });
  const deltas = new Map<string, string>();
  const ends: unknown[] = [];
  thread.onEvent(({ method, params }) => {
    const data = params.data as Data;
    const { run_id: message = '', delta } = data as { run_id?: string; delta?: { text?: string } };
    if (method === 'messages' && delta) deltas.set(message, `${deltas.get(message) ?? ''}${delta.text ?? ''}`);
    if (method === 'lifecycle') ends.push(data.event);
  });
  await thread.subscribe(['messages', 'lifecycle', 'input']);
  await thread.run.start(order('are you sure'));
  while (!thread.interrupted || thread.interrupts.length === 0) await delay(20);
  const [asked] = thread.interrupts;
  if (!asked) throw new Error('nothing is asked');
  const { interruptId, namespace } = asked;
  await thread.input.respond({ namespace, interrupt_id: interruptId, response: 'yes' });
  while (ends.at(-1) !== 'completed') await delay(20);
  await thread.close();
  t.true(cuts > 2, String(cuts));
  t.deepEqual([...deltas.values()], [words, 'you said yes'], 'nothing lost, nothing twice');
  t.deepEqual(ends, ['running', 'interrupted', 'running', 'completed']);
});

test("LangGraph's client joins the stream of a thread", async (t) => {
  const client = service.client();
  const { thread_id: id } = await client.threads.create({ graphId });
  const parts: { readonly id?: string; readonly event: string; readonly data: unknown }[] = [];
  const controller = new AbortController();
  const isDone = ({ data }: { readonly data: unknown }): boolean =>
    (data as { readonly status?: string } | null)?.status === 'run_done';
  const joining = (async () => {
    for await (const part of client.threads.joinStream(id, { signal: controller.signal })) {
      parts.push(part);
      if (parts.filter(isDone).length === 2) break;
    }
  })();
  await delay(300);
  await client.runs.wait(id, graphId, order('hello'));
  await client.runs.wait(id, graphId, order('again'));
  await joining;
  const names = parts.map(({ event }) => event);
  t.is(names.filter((name) => name === 'metadata').length, 4);
  t.true(names.includes('values') && names.includes('messages') && names.includes('updates'));
  const ids = parts.flatMap(({ id: own }) => own ?? []);
  t.true(ids.every((own) => /^[12]-\d+(?:\.\d+)?$/.test(own)));
  const middle = ids[3] ?? '';
  const rest: typeof parts = [];
  for await (const part of client.threads.joinStream(id, { lastEventId: middle })) {
    rest.push(part);
    if (rest.filter(isDone).length === 2) break;
  }
  const from = parts.findIndex(({ id: own }) => own === middle) + 1;
  t.deepEqual(rest, parts.slice(from));
  const modes = await service.send('GET', `/threads/${id}/stream?stream_mode=state_update`);
  t.is(modes.status, 422);
  t.is((await service.send('GET', `/threads/${newId()}/stream`)).status, 404);
});

test('an answer that is sent twice answers once, whether one waits for the other, and with a key both get the same reply', async (t) => {
  const { threads, runs } = service.client();
  const askingThread = async () => {
    const { thread_id: id } = await threads.create({ graphId });
    await runs.wait(id, graphId, order('please ask'));
    const [task] = (await threads.getState(id)).tasks;
    const params = { namespace: [], interrupt_id: task?.interrupts[0]?.id, response: 'yes' };
    const send = async (headers: Readonly<Record<string, string>> = {}): Promise<Data> => {
      const sent = { id: 7, method: 'input.respond', params };
      return (await service.send('POST', `/threads/${id}/commands`, sent, headers)).body as Data;
    };
    const shown = async (): Promise<unknown[]> => {
      const { values, next } = await threads.getState(id);
      const { messages, answer } = values as { readonly messages: readonly { content: unknown }[]; answer: unknown };
      return [answer, messages.map(({ content }) => content), next];
    };
    const settled = async (): Promise<unknown[]> => {
      for (const { run_id: run } of await runs.list(id)) await runs.join(id, run);
      return shown();
    };
    return { send, settled };
  };
  const single = ['yes', ['please ask', 'pale blue sky over hills', 'you said yes'], []];
  const repeated = await askingThread();
  t.like(await repeated.send(), { type: 'success', id: 7 });
  t.like(await repeated.send(), { type: 'error', id: 7, error: 'no_such_interrupt' });
  t.deepEqual(await repeated.settled(), single);
  const together = await askingThread();
  const replies = await Promise.all([together.send(), together.send(), together.send()]);
  t.true(replies.some(({ type }) => type === 'success'));
  t.deepEqual(await together.settled(), single);
  const keyed = await askingThread();
  const key = { 'idempotency-key': newId() };
  const first = await keyed.send(key);
  t.like(first, { type: 'success' });
  t.deepEqual(await keyed.send(key), first);
  t.deepEqual(await keyed.settled(), single);
});
