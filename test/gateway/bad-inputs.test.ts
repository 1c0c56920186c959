import { Agent, request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import test, { type ExecutionContext } from 'ava';
import { createClient, user } from '../servers/client.ts';
import { startWatched, type Watched } from '../servers/watched.ts';
import { badInputs, largeInputs, type BadInput } from './bad-inputs.ts';

/** Everything is answered in this time, in milliseconds, while eight are asked at once. */
const answerMs = 10_000;
const atOnce = 8;

test.serial('each of 2,000 and more bad inputs is refused as its class says, and leaves nothing behind', async (t) => {
  await using service = await startWatched('echo', { HOT_STATE_MB: '1' });
  const inputs = [...badInputs()];
  t.true(inputs.length >= 2000, String(inputs.length));
  await sendAll(
    t,
    service,
    inputs.filter((_, index) => index % 5 === 0),
  );
  await sendAll(t, service, [...largeInputs()], 1);
  const before = await quiet(service);

  await sendAll(t, service, inputs);
  await sendAll(t, service, [...largeInputs()], 1);

  const after = await quiet(service, before.calls);
  t.log(`${String(inputs.length)} inputs`, before, after);
  t.is(after.sockets, before.sockets);
  t.is(after.replies, 0);
  t.true(after.heapBytes <= 1.2 * before.heapBytes, `${String(before.heapBytes)} → ${String(after.heapBytes)}`);
  t.true(service.isAlive());
  t.is((await fetch(`${service.url}/v1/ping`)).status, 200);
});

test.serial(
  'bad inputs of operators, and of those with whom a thread is shared, are refused as those of owners are',
  async (t) => {
    const backend = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
    await using service = await startWatched(
      'obedient',
      { HOST: '127.0.0.1' },
      { auth: { method: 'custom', path: `${backend}:Named` }, access: { roles: { root: { is: 'admin' } } } },
    );
    const bob = createClient(service.url, { 'x-user': 'bob', 'x-roles': '' });
    const ran = await bob.send('POST', '/v1/graph/invoke', { messages: [user('hi')], config: { thread_id: 'of-bob' } });
    const { run_id } = (ran.body.data as { meta: { run_id: string } }).meta;
    const terms = { to: { user: 'alice' }, rights: ['read', 'write', 'answer'] };
    const { share_id } = (await bob.send('POST', '/v1/threads/of-bob/shares', terms)).body.data as { share_id: string };
    const rows = endpoints.filter(({ forOperators, isOfOthers }) => forOperators !== undefined || isOfOthers);
    const inputs = [
      ...badInputs({ rows, ids: { run_id, share_id, thread_id: 'of-bob' }, given: { user_id: 'bob', reason: 'why' } }),
    ];
    t.true(inputs.length >= 1000, String(inputs.length));
    await sendAll(t, service, inputs);
    t.log(`${String(inputs.length)} inputs`);
    t.true(service.isAlive());
    t.is((await fetch(`${service.url}/v1/admin/runs?user_id=bob`)).status, 200);
  },
);

/**
 * Sends them all, so many at once, and fails with every one that is not answered as its class says. Of large ones one at a time: together they
 * may be more than the service takes, and the last is then told to come later.
 */
async function sendAll(
  t: ExecutionContext,
  service: Watched,
  inputs: readonly BadInput[],
  count = atOnce,
): Promise<void> {
  const faults: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const left = [...inputs];
  const work = async (): Promise<void> => {
    for (let input = left.pop(); input; input = left.pop()) faults.push(...(await check(service, agent, input)));
  };
  await Promise.all(Array.from({ length: count }, work));
  agent.destroy();
  t.deepEqual(faults, []);
}

/** What is wrong with how an input is answered. */
async function check(service: Watched, agent: Agent, input: BadInput): Promise<string[]> {
  const what = `${input.method} ${input.path.slice(0, 100)}: ${input.class}`;
  const begin = performance.now();
  const { status, body } = await send(service.port, agent, input);
  const shown = JSON.stringify(body).slice(0, 300);
  const ms = performance.now() - begin;
  const faults = [
    ...(input.expected.includes(status)
      ? []
      : [`answered ${String(status)}, not ${input.expected.join(' or ')}: ${shown}`]),
    ...(ms < answerMs ? [] : [`answered after ${String(ms)} ms`]),
    ...(status < 300 || /^\{"error":\{"code":"[A-Z_]+","message":"/.test(shown)
      ? []
      : [`not in the envelope: ${shown}`]),
  ];
  return faults.map((fault) => `${what}: ${fault}`);
}

async function send(port: number, agent: Agent, input: BadInput): Promise<{ status: number; body: unknown }> {
  const { method, path, headers, body, chunked = false } = input;
  const length = body && !chunked ? { 'content-length': String(body.length) } : {};
  const given = Object.fromEntries(Object.entries({ ...headers, ...length }).filter(([, value]) => value !== ''));
  const asked = request({ port, agent, method, path, headers: asBytes(given) });
  asked.end(body);
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  if (!reply.headers['content-type']?.startsWith('application/json')) {
    for await (const _ of reply) continue;
    return { status: reply.statusCode ?? 0, body: {} };
  }
  return { status: reply.statusCode ?? 0, body: await json(reply) };
}

/** Header texts as Node sends them: a byte for each character. */
const asBytes = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]));

/** What the service holds once every connection is closed, and no more calls are under way than these: its checks of readiness are calls, too. */
async function quiet(service: Watched, mostCalls = Infinity): Promise<Awaited<ReturnType<Watched['holdings']>>> {
  for (;;) {
    const holdings = await service.holdings();
    if (holdings.sockets === 0 && holdings.replies === 0 && holdings.calls <= mostCalls) return holdings;
  }
}
