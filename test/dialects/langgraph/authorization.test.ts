import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { newId } from '@agent-workflow/kit/ids';
import test, { type ExecutionContext } from 'ava';
import WebSocket from 'ws';
import { openEmbedded } from '../../servers/embedded.ts';
import { agentAt } from '../../servers/standalone.ts';
import { inSeconds, makeToken } from '../../servers/tokens.ts';
import { until } from '../../until.ts';

const secret = 's'.repeat(32);
const module = fileURLToPath(new URL('../../backends/authorization.ts', import.meta.url));

type Send = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly body: never }>;

interface Opened {
  readonly url: string;
  readonly tokenOf: (...agents: readonly string[]) => string;
  /** A caller that may use these agents. */
  readonly as: (...agents: readonly string[]) => Send;
}

async function open(t: ExecutionContext): Promise<Opened> {
  const service = await openEmbedded(
    null,
    { HOST: '127.0.0.1', JWT_SECRET_KEY: secret },
    {
      ...{ agents: { support: agentAt('recorded'), office: agentAt('recorded') }, default_agent: 'support' },
      ...{ auth: 'jwt', authorization: `${module}:byAgent` },
    },
  );
  t.teardown(() => service[Symbol.asyncDispose]());
  const tokenOf: Opened['tokenOf'] = (...agents) =>
    makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: 'ada', agents } });
  return {
    url: service.url,
    tokenOf,
    as: (...agents) => {
      const token = tokenOf(...agents);
      return async (method, path, body) => {
        const response = await fetch(`${service.url}/langgraph${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as never };
      };
    },
  };
}

interface Open {
  readonly thread_id: string;
  readonly run_id: string;
}

/** A run of each agent that goes on for a minute. */
async function startBoth(send: Send): Promise<readonly [support: Open, office: Open]> {
  const start = async (agent: string): Promise<Open> => {
    const { thread_id: id } = (await send('POST', '/threads', {})).body as Open;
    const input = { messages: [{ role: 'user', content: 'slow' }] };
    return (await send('POST', `/threads/${id}/runs`, { assistant_id: agent, input })).body;
  };
  return [await start('support'), await start('office')];
}

const statusOf = async (send: Send, { thread_id: thread, run_id: run }: Open): Promise<string> =>
  ((await send('GET', `/threads/${thread}/runs/${run}`)).body as { status: string }).status;

test('runs are cancelled together where the caller may stop those of their agents', async (t) => {
  const { as } = await open(t);
  const all = as('support', 'office');
  const onlySupport = as('support');
  const [support, office] = await startBoth(all);
  const cancel = (send: Send, body: object) => send('POST', '/runs/cancel', body);

  t.is((await cancel(onlySupport, { run_ids: [support.run_id, office.run_id] })).status, 403);
  t.is((await cancel(onlySupport, { thread_id: office.thread_id, status: 'all' })).status, 403);
  t.not(await statusOf(all, support), 'interrupted');
  t.is((await cancel(onlySupport, { status: 'all' })).status, 204);
  await until(async () => (await statusOf(all, support)) === 'interrupted');
  t.not(await statusOf(all, office), 'interrupted');
  t.is((await cancel(all, { run_ids: [office.run_id] })).status, 204);
  await until(async () => (await statusOf(all, office)) === 'interrupted');
});

test('threads are pruned together where the caller may delete those of their agents', async (t) => {
  const { as } = await open(t);
  const all = as('support', 'office');
  const [support, office] = await startBoth(all);
  const thread_ids = [support.thread_id, office.thread_id];
  t.is((await as('support')('POST', '/threads/prune', { thread_ids })).status, 403);
  t.is((await all('GET', `/threads/${support.thread_id}`)).status, 200);
  t.deepEqual(await as('support')('POST', '/threads/prune', { thread_ids: [support.thread_id, 'absent'] }), {
    ...{ status: 200, body: { pruned_count: 1 } as never },
  });
  t.deepEqual(await all('POST', '/threads/prune', { thread_ids }), { status: 200, body: { pruned_count: 1 } as never });
});

test('runs of a batch are of one graph, whatever their metadata says', async (t) => {
  const { as } = await open(t);
  const all = as('support', 'office');
  const run = (agent: string) => ({ assistant_id: agent, input: {}, metadata: { graph_id: 'support' } });
  t.is((await all('POST', '/runs/batch', [run('support'), run('office')])).status, 422);
  t.is((await all('POST', '/runs/batch', [run('support'), run('support')])).status, 200);
  t.is((await as('support')('POST', '/runs/batch', [run('office')])).status, 403);
});

interface Received {
  readonly type: string;
  readonly id?: number;
  readonly error?: string;
}

test('a command on a WebSocket is authorized for the agent of its thread', async (t) => {
  const { as, url, tokenOf } = await open(t);
  const all = as('support', 'office');
  const [, office] = await startBoth(all);
  const path = `/langgraph/threads/${office.thread_id}/stream/events`;
  const headers = { authorization: `Bearer ${tokenOf('office')}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers });
  await once(socket, 'open');
  const params = { interrupt_id: 'x', response: 1 };
  socket.send(JSON.stringify({ id: 1, method: 'input.respond', params }));
  const [reply] = (await once(socket, 'message')) as [Buffer];
  const received = JSON.parse(reply.toString()) as Received;
  t.not(received.error, 'permission_denied', reply.toString());
  t.not(received.error, 'unknown_error', reply.toString());
  socket.close();
  t.is((await all('POST', '/runs/cancel', { status: 'all' })).status, 204);
});

test('a stream that was opened before its thread was there sends nothing of another agent', async (t) => {
  const { as, url, tokenOf } = await open(t);
  const id = newId();
  const events = `${url}/langgraph/threads/${id}/stream/events`;
  const authorization = `Bearer ${tokenOf('support')}`;
  const response = await fetch(events, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ channels: ['values', 'lifecycle', 'messages'] }),
  });
  t.is(response.status, 200);
  const { ticket } = (await as('support')('POST', `/threads/${id}/ticket`)).body as { readonly ticket: string };
  const socket = new WebSocket(`${events.replace('http', 'ws')}?ticket=${ticket}`);
  const received: string[] = [];
  socket.on('message', (data: Buffer) => received.push(data.toString()));
  await once(socket, 'open');
  socket.send(
    JSON.stringify({ id: 1, method: 'subscription.subscribe', params: { channels: ['values', 'lifecycle'] } }),
  );
  const closed = once(socket, 'close');
  let text = '';
  const reading = (async () => {
    const reader = response.body?.pipeThrough(new TextDecoderStream());
    for await (const some of reader ?? []) text += some;
  })().catch(() => undefined);
  const input = { messages: [{ role: 'user', content: 'secret' }] };
  const order = { assistant_id: 'office', input, if_not_exists: 'create' };
  t.is((await as('office')('POST', `/threads/${id}/runs`, order)).status, 200);
  await reading;
  t.false(text.includes('data:'), text.slice(0, 300));
  t.is(((await closed) as [number])[0], 4403);
  t.deepEqual(
    received.filter((one) => one.includes('"event"')),
    [],
  );
});
