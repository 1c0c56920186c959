import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ticketMs } from '@agent-workflow/gateway/tickets';
import test, { type ExecutionContext } from 'ava';
import { byUser } from '../backends/authorization.ts';
import { createClient, user, type Client, type Reply, type Sent } from '../servers/client.ts';
import { embeddedOnly, openShape } from './shape.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { serve } from './service.ts';

const secret = 's'.repeat(32);
const as = (owner: string, claims: Readonly<Record<string, unknown>> = {}): Sent => ({
  authorization: `Bearer ${makeToken('HS256', secret, { claims: { exp: inSeconds(300), user_id: owner, ...claims } })}`,
});
const env = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret };
const service = serve(test, 'obedient', env, { auth: 'jwt' });
const open = serve(test);

interface Ticket {
  readonly ticket: string;
  readonly expires_at: string;
}

/** Accepts a run of the user and waits for its end. */
async function makeRun({ send }: Pick<Client, 'send'>, headers: Sent = {}, body: object = {}): Promise<string> {
  const reply = await send('POST', '/v1/runs', { messages: [user('one two three')], ...body }, headers);
  const { run_id: runId } = reply.body.data as { run_id: string };
  await send('GET', `/v1/runs/${runId}/wait`, undefined, headers);
  return runId;
}

async function makeTicket({ send }: Pick<Client, 'send'>, runId: string, headers: Sent = {}): Promise<string> {
  const reply = await send('POST', `/v1/runs/${runId}/ticket`, undefined, headers);
  return (reply.body.data as Ticket).ticket;
}

const streamOf = (url: string, runId: string, query: string, headers: Sent = {}): Promise<Response> =>
  fetch(`${url}/v1/runs/${runId}/stream${query}`, { headers });

/** Checks that a stream is refused as unknown credentials are, and gives what is said. */
async function isUnknown(t: ExecutionContext, asked: Promise<Response>, message = 'the ticket is not valid') {
  const response = await asked;
  t.is(response.status, 401);
  t.regex(response.headers.get('www-authenticate') ?? '', /^Bearer/);
  const body = (await response.json()) as Pick<Reply, 'body'>['body'];
  t.like(body.error, { code: 'AUTHENTICATION_FAILED', message } as never);
}

test('a ticket lets in to the stream of its run without a header, and gives what the owner would get', async (t) => {
  const runId = await makeRun(service, as('ada'));
  const before = Date.now();
  const reply = service.send('POST', `/v1/runs/${runId}/ticket`, undefined, as('ada'));
  const { ticket, expires_at } = (await service.data(t, 'makeRunTicket', reply)) as Ticket;
  t.regex(ticket, /^[\w-]{43}$/);
  const endsIn = Date.parse(expires_at) - before;
  t.true(endsIn >= ticketMs && endsIn < ticketMs + 10_000, expires_at);
  t.is((await reply).headers.get('cache-control'), 'no-store');

  const whole = await (await streamOf(service.url(), runId, '', as('ada'))).text();
  t.regex(whole, /^event: on_chain_end$/m);
  for (let used = 0; used < 3; used++) {
    const response = await streamOf(service.url(), runId, `?ticket=${ticket}`);
    t.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
    t.is(await response.text(), whole);
  }
  const events = whole.split('\n\n').slice(0, -1);
  const rest = events
    .slice(2)
    .map((event) => `${event}\n\n`)
    .join('');
  t.is(await (await streamOf(service.url(), runId, `?after=2&ticket=${ticket}`)).text(), rest);
  const resumed = await streamOf(service.url(), runId, `?ticket=${ticket}`, { 'last-event-id': `${runId}:2` });
  t.is(await resumed.text(), rest);
  const ndjson = await streamOf(service.url(), runId, `?ticket=${ticket}`, { accept: 'application/x-ndjson' });
  t.is((await ndjson.text()).trimEnd().split('\n').length, events.length);
});

test('what is wrong with the rest of the request is refused as ever', async (t) => {
  const runId = await makeRun(service, as('ada'));
  const ticket = await makeTicket(service, runId, as('ada'));
  t.is((await streamOf(service.url(), runId, `?ticket=${ticket}&after=x`)).status, 422);
  t.is((await streamOf(service.url(), runId, `?ticket=${ticket}`, { 'last-event-id': 'other:1' })).status, 400);
});

test('a ticket that is wrong, of another run, or given twice is 401, and none of them is told apart', async (t) => {
  const [runId, otherRun, bobsRun] = await Promise.all([
    makeRun(service, as('ada')),
    makeRun(service, as('ada')),
    makeRun(service, as('bob')),
  ]);
  const ticket = await makeTicket(service, runId, as('ada'));
  for (const wrong of ['', 'wrong', ticket.slice(1), `${ticket}A`, ticket.toLowerCase(), '%00', 'x'.repeat(5000)])
    await isUnknown(t, streamOf(service.url(), runId, `?ticket=${wrong}`));
  await isUnknown(t, streamOf(service.url(), runId, `?ticket=${ticket}&ticket=${ticket}`));
  for (const other of [otherRun, bobsRun, 'absent', `${runId}%2F`, encodeURIComponent(`${runId}/../${runId}`)])
    await isUnknown(t, streamOf(service.url(), other, `?ticket=${ticket}`));
  await isUnknown(t, streamOf(service.url(), runId, `?ticket=${await makeTicket(service, otherRun, as('ada'))}`));
  t.is((await streamOf(service.url(), runId, `?ticket=${ticket}`)).status, 200);
});

test('a ticket is good for the stream alone: every other route takes it for nothing', async (t) => {
  const runId = await makeRun(service, as('ada'), { config: { thread_id: 'ticketed' } });
  const ticket = await makeTicket(service, runId, as('ada'));
  const routes = [
    ['GET', `/v1/runs/${runId}`],
    ['GET', `/v1/runs/${runId}/wait`],
    ['POST', `/v1/runs/${runId}/ticket`],
    ['POST', `/v1/runs/${runId}/cancel`],
    ['POST', `/v1/runs/${runId}/stream`],
    ['HEAD', `/v1/runs/${runId}/stream`],
    ['GET', `/v1/runs/${runId}/stream/`],
    ['GET', `/v1/runs/${runId}/stream/x`],
    ['GET', `/v1/runs//stream`],
    ['GET', `/v1/threads/ticketed`],
    ['GET', `/v1/ping`],
  ] as const;
  for (const [method, path] of routes) {
    const { status } = await fetch(`${service.url()}${path}?ticket=${ticket}`, { method });
    t.is(status, 401, `${method} ${path}`);
  }
});

test('a request with an Authorization header is judged by that alone', async (t) => {
  const runId = await makeRun(service, as('ada'));
  const ticket = await makeTicket(service, runId, as('ada'));
  const bad = { authorization: `Bearer ${makeToken('HS256', 'x'.repeat(32), { claims: { user_id: 'ada' } })}` };
  for (const headers of [bad, { authorization: 'Bearer' }, { authorization: 'Basic YTpi' }]) {
    const { status } = await streamOf(service.url(), runId, `?ticket=${ticket}`, headers);
    t.is(status, 401, headers.authorization);
  }
  t.is((await streamOf(service.url(), runId, `?ticket=${ticket}`, as('bob'))).status, 404);
  t.is((await streamOf(service.url(), runId, '?ticket=wrong', as('ada'))).status, 200);
});

test('nobody gets a ticket for a run of somebody else: it is as absent as any', async (t) => {
  const runId = await makeRun(service, as('ada'));
  const makeTicket = (id: string): Promise<Reply> => service.send('POST', `/v1/runs/${id}/ticket`, {}, as('bob'));
  const [foreign, absent] = [await makeTicket(runId), await makeTicket('01a1fe0b-746f-73b2-9d81-b3f2b7ed7117')];
  t.is(foreign.status, 404);
  const errorOf = ({ body }: Reply): string => JSON.stringify(body.error).replaceAll(/[\da-f-]{36}/g, '…');
  t.is(errorOf(foreign), errorOf(absent));
  t.is((await service.send('POST', `/v1/runs/${runId}/ticket`)).status, 401);
});

test('a ticket for a run whose thread is deleted afterwards lets in to nothing', async (t) => {
  const runId = await makeRun(service, as('ada'), { config: { thread_id: 'deleted' } });
  const ticket = await makeTicket(service, runId, as('ada'));
  await service.send('DELETE', '/v1/threads/deleted', undefined, as('ada'));
  t.is((await streamOf(service.url(), runId, `?ticket=${ticket}`)).status, 404);
});

test('each request makes a ticket of its own, also under one idempotency key: none is kept to be told again', async (t) => {
  const runId = await makeRun(service, as('ada'));
  const keyed = { ...as('ada'), 'idempotency-key': 'ticket' };
  const [one, two] = [await makeTicket(service, runId, keyed), await makeTicket(service, runId, keyed)];
  t.not(one, two);
  for (const ticket of [one, two]) t.is((await streamOf(service.url(), runId, `?ticket=${ticket}`)).status, 200);
});

test('where nobody signs in tickets are made and taken too, and a wrong one is still wrong', async (t) => {
  const runId = await makeRun(open);
  const ticket = await makeTicket(open, runId);
  t.is((await streamOf(open.url(), runId, `?ticket=${ticket}`)).status, 200);
  await isUnknown(t, streamOf(open.url(), runId, '?ticket=wrong'));
  t.is((await streamOf(open.url(), runId, '')).status, 200);
});

test('with a custom backend a ticket is taken without asking it', async (t) => {
  const module = fileURLToPath(new URL('../backends/custom.ts', import.meta.url));
  const auth = { method: 'custom', path: `${module}:ByRequest` };
  const opened = await openShape('obedient', { HOST: '127.0.0.1' }, { auth });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const client = createClient(opened.url);
  const runId = await makeRun(client, { 'x-order': 'user ada' });
  const ticket = await makeTicket(client, runId, { 'x-order': 'user ada' });
  t.is((await streamOf(opened.url, runId, `?ticket=${ticket}`)).status, 200);
  t.is((await streamOf(opened.url, runId, `?ticket=${ticket}`, { 'x-order': 'throw' })).status, 200);
  t.is((await streamOf(opened.url, runId, '')).status, 401);
});

test('authorization is asked when the ticket is made, and not again when it is used', async (t) => {
  const module = fileURLToPath(new URL('../backends/authorization.ts', import.meta.url));
  const opened = await openShape('obedient', env, { auth: 'jwt', authorization: `${module}:byUser` });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const client = createClient(opened.url);
  const runId = await makeRun(client, as('ada', { may: 'all' }));
  t.is((await client.send('POST', `/v1/runs/${runId}/ticket`, {}, as('ada', { may: 'none' }))).status, 403);
  byUser.asked.length = 0;
  const ticket = await makeTicket(client, runId, as('ada', { may: 'all' }));
  t.deepEqual(
    byUser.asked.map(({ resource, action }) => [resource, action]),
    [['graph', 'stream']],
  );
  t.is((await streamOf(opened.url, runId, `?ticket=${ticket}`)).status, 200);
  t.is(byUser.asked.length, 1);
});

test('streams by ticket count for the principal that the ticket was made for, and so do its requests', async (t) => {
  await using gate = await openGate();
  const limited = {
    ...env,
    MAX_STREAMS_PER_PRINCIPAL: '2',
    RATE_LIMIT_REQUESTS: '100',
    RATE_LIMIT_WINDOW_SECONDS: '86400',
  };
  const opened = await openShape('gated', limited, { auth: 'jwt' });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const client = createClient(opened.url);
  const begin = async (sub: string): Promise<readonly [runId: string, ticket: string]> => {
    const body = { messages: [user('go')], config: { gate: gate.url } };
    const { run_id: runId } = (await client.send('POST', '/v1/runs', body, as(sub))).body.data as { run_id: string };
    return [runId, await makeTicket(client, runId, as(sub))];
  };
  const [runId, ticket] = await begin('ada');
  const [bobsRun, bobsTicket] = await begin('bob');
  const first = await streamOf(opened.url, runId, `?ticket=${ticket}`);
  const second = await streamOf(opened.url, runId, '', as('ada'));
  const third = await streamOf(opened.url, runId, `?ticket=${ticket}`);
  t.is(third.status, 429);
  t.is(third.headers.get('ratelimit-remaining'), '95');
  t.is((await streamOf(opened.url, runId, '', as('ada'))).status, 429);
  const bobs = await streamOf(opened.url, bobsRun, `?ticket=${bobsTicket}`);
  t.is(bobs.status, 200);
  gate.open();
  for (const stream of [first, second, bobs]) t.regex(await stream.text(), /^event: on_chain_end$/m);
});

test('wrong tickets count as failures to sign in', async (t) => {
  const opened = await openShape('obedient', { ...env, RATE_LIMIT_AUTH_FAILURES: '2' }, { auth: 'jwt' });
  t.teardown(() => opened[Symbol.asyncDispose]());
  const client = createClient(opened.url);
  const runId = await makeRun(client, as('ada'));
  const ticket = await makeTicket(client, runId, as('ada'));
  for (let guess = 0; guess < 2; guess++) await isUnknown(t, streamOf(opened.url, runId, '?ticket=guess'));
  t.is((await streamOf(opened.url, runId, `?ticket=${ticket}`)).status, 429);
});

embeddedOnly(test, 'the log, at its most talkative, holds no ticket, good or wrong', async (t) => {
  await using workspace = await makeWorkspace('obedient', { auth: 'jwt' });
  await using process = await startStandalone({ ...workspace.env, ...env, LOG_LEVEL: 'trace' });
  const printed: string[] = [];
  process.child.stderr?.on('data', (bytes: Buffer) => printed.push(bytes.toString()));
  const client = createClient(process.url);
  const runId = await makeRun(client, as('ada'));
  const ticket = await makeTicket(client, runId, as('ada'));
  const wrong = 'a-wrong-ticket-that-nobody-may-log';
  for (const [id, query, status] of [
    [runId, `?ticket=${ticket}`, 200],
    [runId, `?ticket=${wrong}`, 401],
    ['absent', `?ticket=${ticket}`, 401],
    [runId, `?ticket=${ticket}&after=x`, 422],
    [runId, `?ticket=${ticket}&x=${'x'.repeat(9000)}`, 414],
    [`${runId}/nowhere`, `?ticket=${ticket}`, 401],
  ] as const) {
    const response = await streamOf(process.url, id, query);
    const answer = await response.text();
    t.is(response.status, status, query.slice(0, 100));
    t.false(answer.includes(ticket) || answer.includes(wrong), 'nor does an answer say it again');
  }
  t.is(await process.stop('SIGTERM'), 0);
  const all = [...process.lines, ...printed].join('\n');
  t.true(process.lines.filter((line) => line.includes('"msg":"request"')).length >= 9, 'every request is logged');
  t.true(all.includes('/stream'));
  for (const text of [ticket, wrong]) t.false(all.includes(text));
});

/** Follows an address as a page does, until it has heard of the end; prints the ids and kinds of what it heard. */
const page = `
  const heard = [];
  const source = new EventSource(process.argv[1]);
  const kinds = ['metadata', 'on_chain_start', 'on_chain_stream', 'messages_chunk', 'on_chain_end'];
  for (const kind of kinds) source.addEventListener(kind, ({ lastEventId, type, data }) => {
    heard.push([lastEventId, type, JSON.parse(data).event]);
    if (type !== 'on_chain_end') return;
    source.close();
    console.log(JSON.stringify(heard));
  });`;

test('an EventSource, which sends no headers, follows a run to its end by a ticket', async (t) => {
  const runId = await makeRun(service, as('ada'));
  const ticket = await makeTicket(service, runId, as('ada'));
  const whole = await (await streamOf(service.url(), runId, '', as('ada'))).text();
  const expected = [...whole.matchAll(/^id: (.*)\nevent: (.*)$/gm)].map(([, id, kind]) => [id, kind, kind]);
  const source = `${service.url()}/v1/runs/${runId}/stream?ticket=${ticket}`;
  const child = spawn(process.execPath, ['--experimental-eventsource', '--no-warnings', '-e', page, source]);
  const [received] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  t.deepEqual(JSON.parse(received), expected);
});
