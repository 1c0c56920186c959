import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { openShape } from './shape.ts';

const module = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
const service = {
  auth: { method: 'custom', path: `${module}:Named` },
  access: {
    roles: {
      manager: { is: 'approver' },
      support: { is: 'operator' },
      ops: { is: 'operator', reads: 'contents' },
      root: { is: 'admin' },
    },
  },
};

let opened: Awaited<ReturnType<typeof openShape>> | undefined;
test.before(async () => {
  opened = await openShape('obedient', { HOST: '127.0.0.1' }, service);
});
test.after.always(() => opened?.[Symbol.asyncDispose]());

const as = (name: string, ...roles: readonly string[]): Client =>
  createClient(opened?.url ?? '', { 'x-user': name, 'x-roles': roles.join(',') });

interface Run {
  readonly run_id: string;
  readonly user_id: string | null;
  readonly status: string;
  readonly thread_title: string | null;
}

interface Failed {
  readonly error: {
    readonly message: string | null;
    readonly code: string;
    readonly node?: string;
    readonly reason?: string;
  };
}

let made = 0;

/** A run of a user on a thread of its own, which has ended. */
async function runOf(
  name: string,
  text = 'a cabbage',
): Promise<{ readonly run_id: string; readonly thread_id: string }> {
  const client = as(name, '');
  const thread_id = `thread-${name}-${String((made += 1))}`;
  const reply = await client.send('POST', '/v1/runs', { messages: [user(text)], config: { thread_id } });
  const { run_id } = reply.body.data as { run_id: string };
  await client.send('GET', `/v1/runs/${run_id}/wait`);
  return { run_id, thread_id };
}

async function linesOf(query = ''): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const reply = await fetch(`${opened?.url ?? ''}/v1/admin/audit${query}`, {
    headers: { 'x-user': 'zoe', 'x-roles': 'root' },
  });
  const text = await reply.text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

test('a caller is told which roles it has, and which of them reads contents', async (t) => {
  const { body } = await as('olga', 'support', 'ops', 'root', 'stranger').send('GET', '/v1/me');
  t.deepEqual((body.data as { readonly roles: readonly object[] }).roles, [
    { name: 'support', is: 'operator' },
    { name: 'ops', is: 'operator', reads: 'contents' },
    { name: 'root', is: 'admin' },
  ]);
});

test('an operator sees the runs of everybody, newest first and without contents, in pages and of one owner', async (t) => {
  const first = await runOf('ann');
  const second = await runOf('ben');
  const sue = as('sue', 'support');
  const { status, body } = await sue.send('GET', '/v1/admin/runs?limit=1000');
  t.is(status, 200);
  const { runs } = body.data as { runs: Run[] };
  const ours = runs.filter(({ run_id }) => [first.run_id, second.run_id].includes(run_id));
  t.deepEqual(
    ours.map(({ run_id, user_id, thread_title }) => [run_id, user_id, thread_title]),
    [
      [second.run_id, 'ben', null],
      [first.run_id, 'ann', null],
    ],
  );
  t.false(JSON.stringify(body).includes('cabbage'));
  const ofAnn = (await sue.send('GET', '/v1/admin/runs?user_id=ann&status=completed')).body.data as { runs: Run[] };
  t.deepEqual(
    ofAnn.runs.map(({ user_id }) => user_id),
    ['ann'],
  );
  const paged: string[] = [];
  for (let cursor = ''; ;) {
    const page = await sue.send('GET', `/v1/admin/runs?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    const { runs: some, cursor: next } = page.body.data as { runs: Run[]; cursor?: string };
    paged.push(...some.map(({ run_id }) => run_id));
    if (next === undefined) break;
    cursor = next;
  }
  t.true(paged.indexOf(second.run_id) < paged.indexOf(first.run_id));
  t.is(new Set(paged).size, paged.length);
});

test('an operator sees each thread once, by its newest run, with its status', async (t) => {
  const { thread_id } = await runOf('cat');
  await as('cat').send('POST', '/v1/graph/invoke', { messages: [user('more cabbage')], config: { thread_id } });
  await runOf('cat', 'fail');
  const sue = as('sue', 'support');
  const { body } = await sue.send('GET', '/v1/admin/threads?user_id=cat');
  const { threads } = body.data as { threads: { thread_id: string; status: string; title: string | null }[] };
  t.deepEqual(
    threads.map(({ status, title }) => [status, title]),
    [
      ['failed', null],
      ['idle', null],
    ],
  );
  t.is(threads[1]?.thread_id, thread_id);
  t.false(JSON.stringify(body).includes('cabbage'));
  const failed = await sue.send('GET', '/v1/admin/threads?user_id=cat&status=failed');
  t.is((failed.body.data as { threads: object[] }).threads.length, 1);
});

test('contents are for roles that read them, with a reason, and each read is a line that says who, what and why', async (t) => {
  const { run_id, thread_id } = await runOf('dan');
  const state = `/v1/admin/threads/${thread_id}/state?user_id=dan`;
  t.is((await as('sue', 'support').send('GET', `${state}&reason=why`)).status, 403);
  const pat = as('pat', 'ops');
  t.is((await pat.send('GET', state)).status, 422);
  t.false((await linesOf()).some((line) => line['thread_id'] === thread_id));

  const shown = await pat.send('GET', `${state}&reason=ticket%204711`);
  t.is(shown.status, 200);
  t.true(JSON.stringify(shown.body).includes('cabbage'));
  const messages = await pat.send('GET', `/v1/admin/threads/${thread_id}/messages?user_id=dan&reason=why`);
  t.true(JSON.stringify(messages.body).includes('cabbage'));
  const steps = await pat.send('GET', `/v1/admin/runs/${run_id}/steps?user_id=dan&reason=why`);
  t.is(steps.status, 200);
  const titled = await pat.send('GET', `/v1/admin/runs/${run_id}?user_id=dan&show=contents&reason=why`);
  t.is((titled.body.data as Run).thread_title, 'a cabbage');

  const lines = (await linesOf()).filter((line) => line['owner_id'] === 'dan');
  t.deepEqual(
    lines.map(({ operation }) => operation),
    ['getRunOfOthers', 'listStepsOfOthers', 'listMessagesOfOthers', 'getStateOfOthers'],
  );
  t.like(lines[3], { user_id: 'pat', roles: ['ops'], action: 'read', thread_id, reason: 'ticket 4711' });
  t.is((await linesOf(`?before=${String(lines[0]?.['id'])}`)).filter(({ owner_id: of }) => of === 'dan').length, 3);
  t.is((await linesOf('?limit=1')).length, 1);
  t.deepEqual(await linesOf(`?to=${new Date(Date.now() - 3_600_000).toISOString()}`), []);
});

test('what is masked is seen without a reason, and leaves no line', async (t) => {
  const { run_id, thread_id } = await runOf('eve');
  const sue = as('sue', 'support');
  for (const path of [
    `/v1/admin/runs/${run_id}`,
    `/v1/admin/runs/${run_id}/trace`,
    `/v1/admin/threads/${thread_id}`,
    `/v1/admin/threads/${thread_id}/runs`,
  ]) {
    const { status, body } = await sue.send('GET', `${path}?user_id=eve`);
    t.is(status, 200, path);
    t.false(JSON.stringify(body).includes('cabbage'), path);
    t.is((await sue.send('GET', `${path}?user_id=nobody`)).status, 404, path);
    t.is((await sue.send('GET', path)).status, 404, 'the anonymous owner has none of that id');
  }
  t.false((await linesOf()).some(({ owner_id: of }) => of === 'eve'));
});

test('the text of an error is contents: what is masked has its code, node and reason', async (t) => {
  const { run_id, thread_id } = await runOf('hal', 'fail');
  const sue = as('sue', 'support');
  const own = (await as('hal').send('GET', `/v1/runs/${run_id}`)).body.data as Failed;
  t.regex(own.error.message ?? '', /\w/);
  const { message, code, node, reason } = own.error;
  const named = { message: null, code, ...(node !== undefined && { node }), ...(reason !== undefined && { reason }) };
  const run = (await sue.send('GET', `/v1/admin/runs/${run_id}?user_id=hal`)).body.data as Failed;
  t.deepEqual(run.error, named);
  const { runs } = (await sue.send('GET', '/v1/admin/runs?user_id=hal')).body.data as { runs: Failed[] };
  t.deepEqual(runs[0]?.error, named);
  const trace = await sue.send('GET', `/v1/admin/runs/${run_id}/trace?user_id=hal`);
  const { spans } = trace.body.data as { spans: Partial<Failed>[] };
  const errors = spans.flatMap(({ error }) => error ?? []);
  t.true(errors.length > 0);
  t.true(errors.every((error) => error.message === null));
  const ofThread = await sue.send('GET', `/v1/admin/threads/${thread_id}/runs?user_id=hal`);
  for (const { body } of [trace, ofThread]) t.false(JSON.stringify(body).includes(message ?? ''));
  const contents = `/v1/admin/runs/${run_id}?user_id=hal&show=contents&reason=why`;
  t.is(((await as('pat', 'ops').send('GET', contents)).body.data as Failed).error.message, message);
  // It would find words of what is masked.
  t.is((await sue.send('GET', '/v1/admin/runs?user_id=hal&error=a')).status, 422);
});

test('an operator stops and retries runs of others, which stay their owners’, and the audit has it', async (t) => {
  const { run_id, thread_id } = await runOf('fay', 'fail');
  const sue = as('sue', 'support');
  const body = { user_id: 'fay', reason: 'an outage' };
  t.is((await as('fay', 'manager').send('POST', `/v1/admin/runs/${run_id}/retry`, body)).status, 403);
  const unsaid = await sue.send('POST', `/v1/admin/runs/${run_id}/retry`, { user_id: 'fay' });
  t.is(unsaid.status, 422);
  t.deepEqual((unsaid.body as unknown as { error: { details: { loc: string[] }[] } }).error.details[0]?.loc, [
    'body',
    'reason',
  ]);
  const retried = await sue.send('POST', `/v1/admin/runs/${run_id}/retry`, body);
  t.is(retried.status, 202, JSON.stringify(retried.body));
  const { run_id: again } = retried.body.data as Run;
  t.is((await as('fay').send('GET', `/v1/runs/${again}`)).status, 200);
  t.is((await sue.send('GET', `/v1/runs/${again}`)).status, 404, 'it is not the operator’s');
  t.is((await sue.send('POST', `/v1/admin/runs/${again}/cancel`, body)).status, 200);
  const lines = (await linesOf()).filter(({ owner_id: of }) => of === 'fay');
  t.deepEqual(
    lines.map(({ action }) => action),
    ['stop', 'retry'],
  );
  t.truthy(thread_id);
});

test('a caller without the role is refused everything of operators, whatever else they may', async (t) => {
  const { run_id, thread_id } = await runOf('gus');
  for (const roles of [[''], ['manager'], ['admin'], ['unknown']])
    for (const path of [
      '/v1/admin/runs',
      '/v1/admin/threads',
      '/v1/admin/questions',
      '/v1/admin/audit',
      `/v1/admin/runs/${run_id}?user_id=gus`,
      `/v1/admin/runs/${run_id}/stream?user_id=gus&reason=why`,
      `/v1/admin/threads/${thread_id}/state?user_id=gus&reason=why`,
    ])
      t.is((await as('gus', ...roles).send('GET', path)).status, 403, `${roles.join()} ${path}`);
  t.is((await as('pat', 'ops').send('GET', '/v1/admin/audit')).status, 403, 'the audit is the admin’s');
});

test('what a caller sees of others by a token ends with it: streams and waits of operators and of shares', async (t) => {
  const secret = 's'.repeat(32);
  await using gate = await openGate();
  const env = { HOST: '127.0.0.1', JWT_SECRET_KEY: secret };
  await using gated = await openShape('gated', env, { ...service, auth: 'jwt' });
  const headersOf = (user_id: string, roles: readonly string[], seconds: number) => ({
    authorization: `Bearer ${makeToken('HS256', secret, { claims: { user_id, roles, exp: inSeconds(seconds) } })}`,
  });
  const ada = createClient(gated.url, headersOf('ada', [], 600));
  const config = { thread_id: 'gated' };
  const started = await ada.send('POST', '/v1/runs', { messages: [user(gate.url)], config });
  const { run_id } = started.body.data as Run;
  const shared = await ada.send('POST', '/v1/threads/gated/shares', { to: { role: 'ops' } });
  const share = `/v1/shared/${(shared.body.data as { share_id: string }).share_id}/runs/${run_id}`;
  await gate.visited(1);
  const short = headersOf('sue', ['ops'], 4);
  const of = `/v1/admin/runs/${run_id}/stream?user_id=ada&reason=ticket`;
  const streams = await Promise.all([of, `${share}/stream`].map((path) => fetch(gated.url + path, { headers: short })));
  t.deepEqual(
    streams.map(({ status }) => status),
    [200, 200],
  );
  const waited = createClient(gated.url, short).send('GET', `${share}/wait`);
  for (const stream of streams) t.notRegex(await stream.text(), /on_chain_end/);
  t.is((await waited).status, 401);
  gate.open();
  t.is((await ada.send('GET', `/v1/runs/${run_id}/wait`)).status, 200, 'the run goes on');
});
