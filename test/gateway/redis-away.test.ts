import { openGatewayStores } from '@agent-workflow/gateway/stores';
import { createLog } from '@agent-workflow/kit/log';
import { openStandalone } from '@agent-workflow/standalone/standalone';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client, type Reply, type Sent } from '../servers/client.ts';
import { withServer } from '../servers/real-suite.ts';
import { privateRedis, type Redis } from '../servers/redis.ts';
import type { Private } from '../servers/real.ts';
import { makeWorkspace } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';

const silentLog = createLog('test', 'silent');

const secret = 's'.repeat(32);
const as = (owner: string): Sent => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: owner } })}`,
});

/** No request takes as long as a command may that gets no answer, in milliseconds. */
const timeoutMs = 5000;
const recoveryMs = 20_000;

interface Edge extends Client {
  readonly url: string;
  readonly redis: Private<Redis>;
}

/** The service, whose edge keeps in a Redis of its own what replicas share. */
async function openEdge(t: ExecutionContext, env: Sent = {}): Promise<Edge> {
  const redis = await privateRedis().open();
  t.teardown(() => redis[Symbol.asyncDispose]());
  await using workspace = await makeWorkspace('obedient', { auth: 'jwt' });
  const config = { REDIS_URL: redis.url, REDIS_KEY_PREFIX: 'test:', REDIS_TIMEOUT_MS: timeoutMs };
  const always = { DATA_DIR: ':memory:', PORT: '0', LOG_LEVEL: 'silent', HOST: '127.0.0.1', JWT_SECRET_KEY: secret };
  const service = await openStandalone(
    { ...workspace.env, ...always, ...env },
    { openStores: () => openGatewayStores({ config, log: silentLog }) },
  );
  t.teardown(() => service[Symbol.asyncDispose]());
  return { ...createClient(service.url), url: service.url, redis };
}

const codeIn = ({ body }: Reply): string => (body.error as { readonly code: string }).code;
const invoke = ({ send }: Client, who: string, headers: Sent = {}, text = 'hello'): Promise<Reply> =>
  send('POST', '/v1/graph/invoke', { messages: [user(text)] }, { ...as(who), ...headers });

async function makeRun({ send }: Client, who: string): Promise<string> {
  const reply = await send('POST', '/v1/runs', { messages: [user('hello')] }, as(who));
  const { run_id: runId } = reply.body.data as { run_id: string };
  await send('GET', `/v1/runs/${runId}/wait`, undefined, as(who));
  return runId;
}

function isAway(t: ExecutionContext, reply: Reply): void {
  t.deepEqual([reply.status, codeIn(reply)], [503, 'SERVICE_UNAVAILABLE']);
  t.is(reply.headers.get('retry-after'), '1');
  t.notRegex(JSON.stringify(reply.body), /redis|127\.0\.0\.1|ECONN/i);
}

/** Asks until it is answered so; every answer comes in time. */
async function untilStatus(t: ExecutionContext, status: number, request: () => Promise<Reply>): Promise<Reply> {
  const begin = performance.now();
  for (;;) {
    const asked = performance.now();
    const reply = await request();
    t.true(performance.now() - asked < timeoutMs);
    if (reply.status === status) return reply;
    if (performance.now() - begin > recoveryMs) throw new Error(`still ${String(reply.status)}`);
  }
}

const toolNamed = (name: string): object => ({ node_name: 'tools', name, parameters: { type: 'object' } });

withServer(test, privateRedis(), () => {
  test('a ticket needs Redis: 503 while it is unavailable, whether made or used, and from before it holds afterwards', async (t) => {
    const edge = await openEdge(t);
    const runId = await makeRun(edge, 'ada');
    const path = `/v1/runs/${runId}/ticket`;
    const { ticket } = (await edge.send('POST', path, {}, as('ada'))).body.data as { ticket: string };
    const follow = (): Promise<Response> => fetch(`${edge.url}/v1/runs/${runId}/stream?ticket=${ticket}`);
    t.regex(await (await follow()).text(), /^event: on_chain_end$/m);

    await edge.redis.kill();
    isAway(t, await edge.send('POST', path, {}, as('ada')));
    isAway(t, await edge.send('GET', `/v1/runs/${runId}/stream?ticket=${ticket}`));
    const signedIn = await fetch(`${edge.url}/v1/runs/${runId}/stream`, { headers: as('ada') });
    t.is(signedIn.status, 200, 'whoever signs in needs none');
    await signedIn.body?.cancel();

    await edge.redis.restart();
    await untilStatus(t, 200, () => edge.send('POST', path, {}, as('ada')));
    t.is((await follow()).status, 200);
  });

  test('limits hold while Redis is unavailable, by a bucket of the process', async (t) => {
    const edge = await openEdge(t, { RATE_LIMIT_REQUESTS: '4', RATE_LIMIT_WINDOW_SECONDS: '3600' });
    const ping = (): Promise<Reply> => edge.send('GET', '/v1/ping', undefined, as('ada'));
    const pingAll = async (): Promise<number[]> => {
      const statuses: number[] = [];
      for (let time = 0; time < 5; time++) statuses.push((await ping()).status);
      return statuses;
    };
    t.deepEqual(await pingAll(), [200, 200, 200, 200, 429]);
    await edge.redis.kill();
    t.deepEqual(await pingAll(), [200, 200, 200, 200, 429]);
    await edge.redis.wipe();
    await edge.redis.restart();
    const again = await untilStatus(t, 200, ping);
    t.is(again.headers.get('ratelimit-remaining'), '3', 'Redis counts anew');
  });

  test('a key holds through it: the work is done once, and the reply is the same', async (t) => {
    const edge = await openEdge(t);
    const send = (key: string): Promise<Reply> => invoke(edge, 'ada', { 'idempotency-key': key });
    const [before, other] = [await send('before'), await invoke(edge, 'ada', { 'idempotency-key': 'body' }, 'a')];
    t.deepEqual([before.status, other.status], [200, 200]);
    await edge.redis.kill();
    t.deepEqual((await send('before')).body.data, before.body.data);
    const away = await Promise.all(Array.from({ length: 5 }, () => send('away')));
    t.is(new Set(away.map(({ body }) => JSON.stringify(body.data))).size, 1);
    t.is((await invoke(edge, 'ada', { 'idempotency-key': 'body' }, 'b')).status, 422);

    await edge.redis.restart();
    const runId = await makeRun(edge, 'ada');
    await untilStatus(t, 200, () => edge.send('POST', `/v1/runs/${runId}/ticket`, {}, as('ada')));
    for (const [key, first] of [
      ['before', before],
      ['away', away[0]],
    ] as const)
      t.deepEqual((await send(key)).body.data, first?.body.data, key);
    t.is((await invoke(edge, 'ada', { 'idempotency-key': 'body' }, 'b')).status, 422);
  });

  test('a run has the tools of its owner or does not begin, and begins where its owner has none', async (t) => {
    const edge = await openEdge(t);
    const setUp = (who: string): Promise<Reply> =>
      edge.send('POST', '/v1/graph/setup', { tools: [toolNamed('look')] }, as(who));
    const statusOf = async (who: string): Promise<string> => {
      const reply = await invoke(edge, who, {}, 'call look');
      return reply.status === 200
        ? (reply.body.data as { meta: { status: string } }).meta.status
        : String(reply.status);
    };
    t.is((await setUp('ada')).status, 200);
    t.is((await setUp('eve')).status, 200);
    t.deepEqual([await statusOf('ada'), await statusOf('bob')], ['interrupted', 'completed']);

    await edge.redis.kill();
    isAway(t, await setUp('bob'));
    t.deepEqual([await statusOf('ada'), await statusOf('bob')], ['interrupted', 'completed'], 'what was read is known');
    isAway(t, await invoke(edge, 'eve'));
    t.is(await statusOf('new'), 'completed', 'who never set up tools has none to lose');
    t.is((await edge.send('GET', '/v1/threads', undefined, as('eve'))).status, 200);

    await edge.redis.restart();
    await untilStatus(t, 200, () => invoke(edge, 'eve'));
    t.is(await statusOf('eve'), 'interrupted');
    t.is((await setUp('bob')).status, 200);
    t.is(await statusOf('bob'), 'interrupted');
  });

  test('callers under way when Redis is killed are answered as if nothing was', async (t) => {
    const edge = await openEdge(t, { RATE_LIMIT_REQUESTS: '1000000' });
    const path = `/v1/runs/${await makeRun(edge, 'ada')}/ticket`;
    let isOver = false;
    const statuses = new Map<number, number>();
    let slowestMs = 0;
    const work = async (): Promise<void> => {
      while (!isOver) {
        const begin = performance.now();
        const { status } = await edge.send('GET', '/v1/threads', undefined, as('ada'));
        slowestMs = Math.max(slowestMs, performance.now() - begin);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const working = Promise.all(Array.from({ length: 8 }, work));
    for (let time = 0; time < 3; time++) {
      await edge.redis.kill();
      for (let run = 0; run < 5; run++) t.is((await invoke(edge, 'ada')).status, 200);
      await edge.redis.restart();
      await untilStatus(t, 200, () => edge.send('POST', path, {}, as('ada')));
      for (let run = 0; run < 5; run++) t.is((await invoke(edge, 'ada')).status, 200);
    }
    isOver = true;
    await working;
    t.deepEqual([...statuses.keys()], [200]);
    t.true(slowestMs < timeoutMs, `${String(slowestMs)} ms`);
    t.log(Object.fromEntries(statuses), `slowest ${slowestMs.toFixed(0)} ms`);
  });
});
