import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client, type Reply } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { openRecordFile } from '../servers/record-file.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { replyText, serve } from './service.ts';
import { embeddedOnly } from './shape.ts';

const service = serve(test);
const gated = serve(test, 'gated');

interface Turn {
  readonly messages: readonly {
    readonly message_id: string;
    readonly content: readonly { readonly text?: string }[];
  }[];
  readonly meta: { readonly run_id: string; readonly thread_id: string };
}

const key = (text: string): Readonly<Record<string, string>> => ({ 'idempotency-key': text });
const dataOf = (reply: Reply): unknown => reply.body.data;

/** Sends the same request twenty times at once. */
const twenty = (
  client: Pick<Client, 'send'>,
  method: string,
  path: string,
  body: unknown,
  name: string,
): Promise<Reply[]> => Promise.all(Array.from({ length: 20 }, () => client.send(method, path, body, key(name))));

const messagesOf = async (client: Pick<Client, 'send'>, thread: string): Promise<Turn['messages']> =>
  ((await client.send('GET', `/v1/threads/${thread}/messages`)).body.data as { messages: Turn['messages'] }).messages;

test('an invoke sent twenty times at once under one key runs once, and every reply is the same', async (t) => {
  const body = { messages: [user('once')], config: { thread_id: 'once-invoke' } };
  const replies = await twenty(service, 'POST', '/v1/graph/invoke', body, 'invoke-1');
  t.true(replies.every(({ status }) => status === 200));
  t.is(new Set(replies.map((reply) => JSON.stringify(dataOf(reply)))).size, 1);
  t.deepEqual((await messagesOf(service, 'once-invoke')).map(replyText), ['once', 'you said once']);
});

/** The bound of a call: a call to busy services may take seconds. */
const callMs = 5000;
const briefly = serve(test, 'gated', { CALL_TIMEOUT_MS: String(callMs) });

// Before the other tests: beside them, calls to a cluster of this machine have taken more than a second.
test.serial('an invoke with a key may take longer than a call to a service may', async (t) => {
  await using gate = await openGate();
  const body = { messages: [user('go')], config: { gate: gate.url } };
  const sent = performance.now();
  const replying = briefly.send('POST', '/v1/graph/invoke', body, key('long-1'));
  await gate.visited(1);
  while (performance.now() - sent < callMs + 500) await new Promise((resolve) => setTimeout(resolve, 50));
  gate.open();
  const reply = await replying;
  t.is(reply.status, 200);
  const again = await briefly.send('POST', '/v1/graph/invoke', body, key('long-1'));
  t.deepEqual(dataOf(again), dataOf(reply));
});

test('without a thread named, every attempt means the thread that the first one made', async (t) => {
  const replies = await twenty(service, 'POST', '/v1/graph/invoke', { messages: [user('new')] }, 'invoke-2');
  const threads = new Set(replies.map((reply) => (dataOf(reply) as Turn).meta.thread_id));
  t.is(threads.size, 1);
});

test('a stream sent again under its key follows the same run from its start', async (t) => {
  const body = { messages: [user('streamed')] };
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => Array.fromAsync(service.stream(body, key('stream-1')))),
  );
  t.is(new Set(streams.map((chunks) => JSON.stringify(chunks))).size, 1);
  t.is(streams[0]?.at(-1)?.event, 'on_chain_end');
});

test('what was deleted is not told again by a request sent again', async (t) => {
  const body = { messages: [user('secret')], config: { thread_id: 'once-gone' } };
  const path = '/v1/threads/once-gone/state';
  const send = async (): Promise<Reply[]> => [
    await service.send('POST', '/v1/graph/invoke', body, key('gone-1')),
    await service.send('POST', path, { config: {}, state: { notes: ['secret'] } }, key('gone-3')),
    await service.send('POST', '/v1/runs', body, key('gone-2')),
  ];
  const [invoked, updated, run] = await send();
  t.deepEqual([invoked?.status, updated?.status], [200, 200]);
  const { run_id: runId } = dataOf(run as Reply) as { run_id: string };
  await service.send('GET', `/v1/runs/${runId}/wait`);
  t.is((await service.send('DELETE', '/v1/threads/once-gone')).status, 200);
  for (const reply of await send()) {
    t.is(reply.status, 404);
    t.false(JSON.stringify(reply.body).includes('secret'));
  }
});

test('an update of a memory that was deleted is not told again', async (t) => {
  const stored = await service.send('POST', '/v1/store/memories', {
    content: 'first',
    memory_type: 'semantic',
    category: 'gone',
  });
  const path = `/v1/store/memories/${(dataOf(stored) as { memory_id: string }).memory_id}`;
  const update = async (): Promise<Reply> => service.send('PUT', path, { content: 'secret' }, key('gone-4'));
  t.deepEqual(dataOf(await update()), dataOf(await update()));
  t.is((await service.send('POST', '/v1/store/memories/forget', { category: 'gone' })).status, 200);
  const again = await update();
  t.is(again.status, 404);
  t.false(JSON.stringify(again.body).includes('secret'));
});

test('what was deleted is not told again either when a thread of its id was made again', async (t) => {
  const path = '/v1/threads/once-again';
  const make = async (): Promise<Reply> =>
    service.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id: 'once-again' } });
  const body = { config: {}, state: { notes: ['secret'] } };
  const update = async (): Promise<Reply> => service.send('POST', `${path}/state`, body, key('again-1'));
  await make();
  t.is((await update()).status, 200);
  const updatedAt = Date.now();
  t.is((await update()).status, 200);
  t.is((await service.send('DELETE', path)).status, 200);
  await until(() => Date.now() > updatedAt + 1100);
  await make();
  const again = await update();
  t.is(again.status, 404);
  t.false(JSON.stringify(again.body).includes('secret'));
  t.false(JSON.stringify((await service.send('GET', `${path}/state`)).body).includes('secret'));
});

test('the same key with another body is refused, and other paths have keys of their own', async (t) => {
  const first = await service.send('POST', '/v1/graph/invoke', { messages: [user('a')] }, key('body-1'));
  t.is(first.status, 200);
  const other = service.send('POST', '/v1/graph/invoke', { messages: [user('b')] }, key('body-1'));
  t.deepEqual(await service.refused(t, other, 422, 'VALIDATION_ERROR'), [['header', 'Idempotency-Key']]);
  const memory = { content: 'x', memory_type: 'semantic', category: 'c' };
  t.is((await service.send('POST', '/v1/store/memories', memory, key('body-1'))).status, 200);
});

for (const [what, bad] of [
  ['empty', ''],
  ['of more than 255 characters', 'k'.repeat(256)],
  ['with a space in it', 'a b'],
] as const) {
  test(`a key that is ${what} is refused by name`, async (t) => {
    const reply = service.send('POST', '/v1/graph/invoke', { messages: [user('a')] }, key(bad));
    t.deepEqual(await service.refused(t, reply, 422, 'VALIDATION_ERROR'), [['header', 'Idempotency-Key']]);
  });
}

test('a state update whose reducer adds is applied once', async (t) => {
  await service.thread('once-state');
  const body = { config: {}, state: { notes: ['n'] } };
  const replies = await twenty(service, 'POST', '/v1/threads/once-state/state', body, 'state-1');
  t.true(replies.every(({ status }) => status === 200));
  const { state } = (await service.send('GET', '/v1/threads/once-state/state')).body.data as {
    state: { notes: string[] };
  };
  t.deepEqual(state.notes, ['n']);
});

test('messages are added once, with the same ids in every reply', async (t) => {
  await service.thread('once-messages');
  const replies = await twenty(
    service,
    'POST',
    '/v1/threads/once-messages/messages',
    { messages: [user('m')] },
    'messages-1',
  );
  t.is(new Set(replies.map((reply) => JSON.stringify(dataOf(reply)))).size, 1);
  t.is((await messagesOf(service, 'once-messages')).length, 3);
});

test('a memory is stored once', async (t) => {
  const body = { content: 'only once', memory_type: 'semantic', category: 'once' };
  const replies = await twenty(service, 'POST', '/v1/store/memories', body, 'memory-1');
  t.is(new Set(replies.map((reply) => JSON.stringify(dataOf(reply)))).size, 1);
  const { results } = (await service.send('POST', '/v1/store/search', { query: 'only once', category: 'once' })).body
    .data as { results: unknown[] };
  t.is(results.length, 1);
});

test('a deletion sent again says what the first said, and a refusal stays one', async (t) => {
  await service.thread('once-delete');
  const replies = await twenty(service, 'DELETE', '/v1/threads/once-delete', undefined, 'delete-1');
  t.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
  t.is((await service.send('DELETE', '/v1/threads/once-delete', undefined, key('delete-2'))).status, 404);
  await service.thread('once-delete');
  t.is((await service.send('DELETE', '/v1/threads/once-delete', undefined, key('delete-2'))).status, 404);
});

test('a run that was refused is refused alike when it is sent again', async (t) => {
  for (const [index, [status, body]] of (
    [
      [422, { messages: [user('hello')], initial_state: { no_field: 1 } }],
      [422, { messages: [] }],
      [400, { messages: [], resume: 'yes', config: { thread_id: 'unasked' } }],
    ] as const
  ).entries())
    for (const path of ['/v1/graph/invoke', '/v1/graph/stream', '/v1/runs']) {
      const key = { 'idempotency-key': `refused-${String(index)}` };
      const first = await service.send('POST', path, body, key);
      const second = await service.send('POST', path, body, key);
      t.is(first.status, status, JSON.stringify(first.body));
      t.deepEqual([second.status, second.body.error], [first.status, first.body.error], path);
    }
});

test('a reply that is too large to be kept is given again, and what was deleted since stays deleted', async (t) => {
  await service.thread('once-large');
  const path = '/v1/threads/once-large/messages';
  const body = { messages: [{ ...user('x'.repeat(1_200_000)), message_id: 'large' }, user('beside')] };
  const first = await service.send('POST', path, body, key('large-1'));
  t.is(first.status, 200);
  t.is((await service.send('DELETE', `${path}/large`)).status, 200);
  const again = await service.send('POST', path, body, key('large-1'));
  t.deepEqual(dataOf(again), dataOf(first));
  t.deepEqual((await messagesOf(service, 'once-large')).map(replyText), ['hello', 'you said hello', 'beside']);
});

test('a large update of state is given again as it left the state', async (t) => {
  await service.thread('once-heavy');
  const path = '/v1/threads/once-heavy/state';
  const body = { config: {}, state: { notes: ['x'.repeat(1_200_000)] } };
  const first = await service.send('POST', path, body, key('heavy-1'));
  t.is((await service.send('DELETE', path)).status, 200);
  const again = await service.send('POST', path, body, key('heavy-1'));
  t.deepEqual(dataOf(again), dataOf(first));
  t.deepEqual((dataOf(await service.send('GET', path)) as { state: { notes: unknown } }).state.notes, []);
});

/** An address that breaks the first connection and answers all that come later, so that the node that asks it fails once. */
async function openFirstBroken(t: ExecutionContext): Promise<{ readonly url: string; readonly visits: () => number }> {
  let visits = 0;
  const server = createServer((request, response) => {
    visits++;
    if (visits === 1) request.destroy();
    else response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, visits: () => visits };
}

type Send = (body: object, headers: Readonly<Record<string, string>>) => Promise<unknown>;

const failing: Readonly<Record<string, Send>> = {
  '/v1/graph/invoke': async (body, headers) => {
    const { status, body: reply } = await gated.send('POST', '/v1/graph/invoke', body, headers);
    return [status, reply.error];
  },
  '/v1/graph/stream': async (body, headers) => Array.fromAsync(gated.stream(body, headers)),
  '/v1/runs': async (body, headers) => {
    const { run_id: runId } = dataOf(await gated.send('POST', '/v1/runs', body, headers)) as { run_id: string };
    const { status, body: reply } = await gated.send('GET', `/v1/runs/${runId}/wait`);
    return [runId, status, reply.error];
  },
};

for (const [path, send] of Object.entries(failing)) {
  test(`a run of ${path} that failed belongs to its key: sent again, the request gives that run and starts no other`, async (t) => {
    const gate = await openFirstBroken(t);
    const thread = `once-failed-${path.replaceAll('/', '-')}`;
    const body = { messages: [user('go')], config: { thread_id: thread, gate: gate.url } };
    const first = await send(body, key('failed'));
    t.regex(JSON.stringify(first), /"NODE_ERROR"/);
    t.deepEqual(await send(body, key('failed')), first);
    const { runs } = dataOf(await gated.send('GET', `/v1/threads/${thread}/runs`)) as { runs: { status: string }[] };
    t.deepEqual([runs.map(({ status }) => status), gate.visits()], [['failed'], 1]);
    await send(body, key('new'));
    t.is(gate.visits(), 2);
  });
}

test('a refusal because a run is under way is not kept: sent again after the run, the request is done', async (t) => {
  await using gate = await openGate();
  const run = gated.send('POST', '/v1/graph/invoke', {
    messages: [user('go')],
    config: { thread_id: 'once-busy', gate: gate.url },
  });
  await gate.visited(1);
  const requests = [
    ['POST', '/v1/threads/once-busy/messages', { messages: [user('x')] }],
    ['DELETE', '/v1/threads/once-busy/state', undefined],
    ['POST', '/v1/graph/fix', { thread_id: 'once-busy' }],
  ] as const;
  for (const [method, path, body] of requests)
    t.is((await gated.send(method, path, body, key('busy-1'))).status, 409, path);
  gate.open();
  t.is((await run).status, 200);
  for (const [method, path, body] of requests)
    t.is((await gated.send(method, path, body, key('busy-1'))).status, 200, path);
});

test('a stop sent again leaves the run alone that came since', async (t) => {
  await using gate = await openGate();
  const begin = async (visits: number): Promise<string> => {
    const config = { thread_id: 'once-stop', gate: gate.url };
    const reply = await gated.send('POST', '/v1/runs', { messages: [user('go')], config });
    await gate.visited(visits);
    return (dataOf(reply) as { run_id: string }).run_id;
  };
  const stop = (): Promise<Reply> => gated.send('POST', '/v1/graph/stop', { thread_id: 'once-stop' }, key('stop-1'));
  await begin(1);
  const first = await stop();
  const second = await begin(2);
  t.deepEqual(dataOf(await stop()), dataOf(first));
  const { status } = dataOf(await gated.send('GET', `/v1/runs/${second}`)) as { status: string };
  t.is(status, 'running');
  gate.open();
});

test('a stream sent again after its thread was deleted does not make it again', async (t) => {
  const body = { messages: [user('streamed')], config: { thread_id: 'once-streamed' } };
  const send = async (): Promise<number> => {
    const reply = await fetch(`${service.url()}/v1/graph/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key('stream-2') },
      body: JSON.stringify(body),
    });
    await reply.text();
    return reply.status;
  };
  t.is(await send(), 200);
  t.is((await service.send('DELETE', '/v1/threads/once-streamed')).status, 200);
  t.is(await send(), 404);
  t.is((await service.send('GET', '/v1/threads/once-streamed')).status, 404);
});

embeddedOnly(test, 'a key holds across a restart of the process', async (t) => {
  await using workspace = await makeWorkspace('obedient');
  const requests = [
    ['POST', '/v1/graph/invoke', { messages: [user('kept')], config: { thread_id: 'kept' } }],
    ['POST', '/v1/threads/kept/state', { config: {}, state: { notes: ['n'] } }],
    ['POST', '/v1/threads/kept/messages', { messages: [user('m')] }],
    ['POST', '/v1/store/memories', { content: 'c', memory_type: 'semantic', category: 'c' }],
  ] as const;
  const sendAll = async ({ send }: Client): Promise<unknown[]> => {
    const replies: unknown[] = [];
    for (const [method, path, body] of requests) replies.push(dataOf(await send(method, path, body, key('restart'))));
    return replies;
  };
  const first = await startStandalone(workspace.env);
  const before = await sendAll(createClient(first.url));
  await first.stop('SIGKILL');

  await using second = await startStandalone(workspace.env);
  const client = createClient(second.url);
  t.deepEqual(await sendAll(client), before);
  t.is((await messagesOf(client, 'kept')).length, 3);
});

embeddedOnly(test, 'changes are made once, though the process dies before their replies are kept', async (t) => {
  await using workspace = await makeWorkspace('obedient');
  const first = await startStandalone(workspace.env);
  const { send } = createClient(first.url);
  const store = async (content: string): Promise<string> => {
    const reply = await send('POST', '/v1/store/memories', { content, memory_type: 'semantic', category: 'c' });
    return `/v1/store/memories/${(dataOf(reply) as { memory_id: string }).memory_id}`;
  };
  const add = async (thread: string, message: object): Promise<Reply> =>
    send('POST', `/v1/threads/${thread}/messages`, { messages: [message] });
  const [changed, deleted] = [await store('one'), await store('two')];
  for (const thread of ['cleared', 'fixed', 'added', 'kept'])
    await send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id: thread } });
  await add('kept', { ...user('first'), message_id: 'kept' });
  const requests = [
    ['PUT', changed, { content: 'changed', metadata: { by: 'first' } }],
    ['DELETE', deleted, undefined],
    ['POST', '/v1/store/memories/forget', { category: 'c', filters: { by: 'nobody' } }],
    ['DELETE', '/v1/threads/cleared/state', undefined],
    ['POST', '/v1/graph/fix', { thread_id: 'fixed' }],
    ['POST', '/v1/threads/added/messages', { messages: [{ ...user('once'), message_id: 'once' }] }],
    ['DELETE', '/v1/threads/kept/messages/kept', undefined],
  ] as const;
  const sendAll = async (client: Client): Promise<unknown[]> =>
    Promise.all(
      requests.map(async ([method, path, body]) => {
        const reply = await client.send(method, path, body, key('died'));
        t.is(reply.status, 200, `${method} ${path}`);
        // The state beside what a fix came to is that of the moment, and so is its checkpoint.
        const { state: _state, checkpoint_id: _checkpoint, ...data } = dataOf(reply) as Record<string, unknown>;
        return data;
      }),
    );
  const replies = await sendAll(createClient(first.url));

  // What comes in between would be undone by any of them that is done again.
  const call = { type: 'tool_call', id: 'c', name: 'look', args: {} };
  for (const reply of [
    await send('PUT', changed, { content: 'since', metadata: { by: 'nobody' } }),
    await send('POST', '/v1/threads/cleared/state', { config: {}, state: { notes: ['since'] } }),
    await add('fixed', { role: 'assistant', message_id: 'since', content: [call] }),
    await send('DELETE', '/v1/threads/added/messages/once'),
    await add('kept', { ...user('since'), message_id: 'kept' }),
  ])
    t.is(reply.status, 200, JSON.stringify(reply.body));
  const threads = ['cleared/state', 'fixed/messages', 'added/messages', 'kept/messages'];
  const seen = async (client: Client): Promise<unknown[]> =>
    Promise.all(
      [changed, ...threads.map((path) => `/v1/threads/${path}`)].map(async (path) =>
        dataOf(await client.send('GET', path)),
      ),
    );
  const stands = await seen(createClient(first.url));
  await first.stop('SIGKILL');
  forgetReplies(workspace.env['DATA_DIR'] ?? '');

  await using second = await startStandalone(workspace.env);
  const client = createClient(second.url);
  const again = await sendAll(client);
  for (const [index, [method, path]] of requests.entries())
    t.deepEqual(again[index], replies[index], `${method} ${path}`);
  t.deepEqual(await seen(client), stands);
});

/** Takes from the record what keyed requests were answered, as if the process had died before it could keep that. */
function forgetReplies(folder: string): void {
  using db = openRecordFile(folder);
  db.exec('UPDATE once SET reply = NULL');
}
