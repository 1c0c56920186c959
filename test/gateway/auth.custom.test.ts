import { fileURLToPath } from 'node:url';
import { ConfigError } from '@agent-workflow/kit/env';
import { sizes } from '@agent-workflow/kit/sizes';
import test, { type ExecutionContext } from 'ava';
import { openEmbedded } from '../servers/embedded.ts';
import { addedConfig, createClient, user, type Client, type Reply } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { encode } from '../servers/tokens.ts';

const module = fileURLToPath(new URL('../backends/custom.ts', import.meta.url));
const custom = (name: string): Readonly<Record<string, unknown>> => ({
  auth: { method: 'custom', path: `${module}:${name}` },
});

async function openService(t: ExecutionContext, name: string): Promise<string> {
  const service = await openEmbedded('who', { HOST: '127.0.0.1', AUTH_TIMEOUT_MS: '200' }, custom(name));
  t.teardown(() => service[Symbol.asyncDispose]());
  return service.url;
}

/** How a form is told what to do. */
const forms = [
  ['ByRequest', (order: string) => ({ 'x-order': order })],
  ['ByCredentials', (order: string) => ({ authorization: `Bearer ${encode(order)}` })],
] as const;

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly details: readonly { readonly loc: readonly unknown[] }[];
}

const errorOf = ({ body }: Reply): Refusal => body.error;

async function seenBy(client: Client, config: object, what: 'user' | 'config'): Promise<unknown> {
  const { body } = await client.send('POST', '/v1/graph/invoke', { messages: [user('who?')], config });
  const { messages } = body.data as { messages: readonly { content: readonly { text: string }[] }[] };
  return (JSON.parse(messages[0]?.content[0]?.text ?? '') as Record<typeof what, unknown>)[what];
}

const userIn = async (client: Client): Promise<unknown> => seenBy(client, {}, 'user');

/** The `config` that nodes see, without what is filled in by default. */
async function configIn(client: Client, config: object): Promise<unknown> {
  const {
    multitask_strategy: _strategy,
    on_disconnect: _onDisconnect,
    on_completion: _onCompletion,
    ...rest
  } = (await seenBy(client, config, 'config')) as Record<string, unknown>;
  return rest;
}

for (const [name, headersOf] of forms) {
  test(`${name}: the user that it gives owns what the request makes, and reaches the graph`, async (t) => {
    const url = await openService(t, name);
    const client = createClient(url, headersOf('user ada'));
    t.deepEqual(await userIn(client), { user_id: 'ada', roles: ['reader'] });
    for (const [order, owner] of [
      ['user ada', 'ada'],
      ['later bob', 'bob'],
      ['sub cy', 'cy'],
    ] as const) {
      const own = createClient(url, headersOf(order));
      await own.send('POST', '/v1/graph/invoke', { messages: [user('x')], config: { thread_id: 'mine' } });
      const { data } = (await own.send('GET', '/v1/threads/mine')).body;
      t.like(data, { user_id: owner } as never);
    }
  });

  test(`${name}: the user that it gives is in the graph's config, over what the body says`, async (t) => {
    const client = createClient(await openService(t, name), headersOf('user ada'));
    t.deepEqual(await configIn(client, { user_id: 'bob', mine: 1 }), {
      ...addedConfig,
      user_id: 'ada',
      roles: ['reader'],
      mine: 1,
    });
  });

  test(`${name}: nobody is 401, and the service goes no further`, async (t) => {
    const url = await openService(t, name);
    for (const order of ['null', 'undefined']) {
      const reply = await createClient(url, headersOf(order)).send('POST', '/v1/graph/invoke', { messages: [] });
      t.is(reply.status, 401, order);
      t.is(errorOf(reply).code, 'AUTHENTICATION_FAILED');
      t.regex(reply.headers.get('www-authenticate') ?? '', /^Bearer/);
    }
  });

  test(`${name}: an error with a status of 400 to 499 is answered with it and its message`, async (t) => {
    const url = await openService(t, name);
    for (const [status, code] of [
      [400, 'BAD_REQUEST'],
      [401, 'AUTHENTICATION_FAILED'],
      [402, 'BAD_REQUEST'],
      [403, 'PERMISSION_DENIED'],
      [404, 'RESOURCE_NOT_FOUND'],
      [418, 'BAD_REQUEST'],
      [429, 'RATE_LIMITED'],
      [499, 'BAD_REQUEST'],
    ] as const) {
      for (const word of ['status', 'reject']) {
        const reply = await createClient(url, headersOf(`${word} ${status}`)).send('GET', '/v1/threads');
        t.is(reply.status, status);
        t.like(errorOf(reply), { code, message: 'the badge has expired' });
        t.is(reply.headers.has('www-authenticate'), status === 401);
      }
    }
  });

  test(`${name}: anything else that is thrown is 500 without its text`, async (t) => {
    const url = await openService(t, name);
    for (const order of ['throw', 'text 401', 'status 200', 'status 399', 'status 500', 'status 401.5', 'json {']) {
      const reply = await createClient(url, headersOf(order)).send('GET', '/v1/threads');
      t.is(reply.status, 500, order);
      t.notRegex(JSON.stringify(reply.body), /secret|badge|JSON at/);
    }
  });

  test(`${name}: a user that names no owner is 500, not somebody`, async (t) => {
    const url = await openService(t, name);
    const users = [
      '{"email":"x"}',
      '{"user_id":""}',
      '{"user_id":null}',
      '{"user_id":[]}',
      '[]',
      '[1]',
      '"ada"',
      '7',
      'true',
    ];
    for (const given of users) {
      t.is((await createClient(url, headersOf(`json ${given}`)).send('GET', '/v1/threads')).status, 500, given);
    }
  });

  test(`${name}: a user that is too large is 500, which blames no field of the request`, async (t) => {
    const url = await openService(t, name);
    const send = async (bytes: number, note: string): Promise<Reply> =>
      createClient(url, headersOf(`large ${bytes}`)).send('POST', '/v1/graph/invoke', {
        messages: [user('x')],
        config: { mine: note },
      });
    const refused = await send(sizes.metadata, '');
    t.is(refused.status, 500);
    t.like(errorOf(refused), { code: 'INTERNAL_ERROR', details: [] });
    // As much as fits into each, and both together in what nodes see.
    t.is((await send(sizes.metadata - 100, 'n'.repeat(sizes.metadata - 100))).status, 200);
    const own = await send(1, 'n'.repeat(sizes.metadata));
    t.is(own.status, 422);
    t.deepEqual(
      errorOf(own).details.map(({ loc }) => loc),
      [['body', 'config']],
    );
  });

  test(`${name}: no answer in time is 503`, async (t) => {
    const url = await openService(t, name);
    const reply = await createClient(url, headersOf('never')).send('GET', '/v1/threads');
    t.is(reply.status, 503);
    t.truthy(reply.headers.get('retry-after'));
  });

  test(`${name}: probes do without it, and unknown paths do not`, async (t) => {
    const url = await openService(t, name);
    t.is((await fetch(`${url}/healthz`)).status, 200);
    t.is((await fetch(`${url}/v1/nothing`)).status, 401);
    t.is((await createClient(url, headersOf('user ada')).send('GET', '/v1/nothing')).status, 404);
  });
}

test('the request form sees the request, and an empty user is 500', async (t) => {
  const url = await openService(t, 'ByRequest');
  const client = createClient(url, { 'x-order': 'echo' });
  const { user_id: id, ...seen } = (await userIn(client)) as Readonly<Record<string, unknown>>;
  t.regex(String(id), /^by (::ffff:)?127\.0\.0\.1$/);
  t.deepEqual(seen, { method: 'POST', path: '/v1/graph/invoke', query: {} });
  t.is((await createClient(url, { 'x-order': 'json {}' }).send('GET', '/v1/threads')).status, 500);
});

test('the credentials form sets headers and cookies, is handed null without a token, and may let anyone in', async (t) => {
  const url = await openService(t, 'ByCredentials');
  const without = await createClient(url).send('GET', '/v1/threads');
  t.is(without.status, 401);
  t.is(without.headers.get('x-checked'), 'nothing');
  for (const authorization of ['Basic YWRhOnB3', 'Bearer', 'Bearer a b']) {
    const reply = await createClient(url, { authorization }).send('GET', '/v1/threads');
    t.is(reply.headers.get('x-checked'), 'nothing', authorization);
  }
  const nobody = createClient(url, { authorization: `Bearer ${encode('json {}')}` });
  t.deepEqual(await userIn(nobody), {});
  const { headers, body } = await nobody.send('GET', '/v1/threads');
  t.is(headers.get('x-checked'), 'Bearer');
  t.regex(headers.get('set-cookie') ?? '', /^seen=yes; .*httponly/i);
  const { threads } = body.data as { threads: readonly { user_id: unknown }[] };
  t.deepEqual(
    threads.map(({ user_id }) => user_id),
    [null],
  );
  t.deepEqual(await configIn(nobody, { user_id: 'ada', mine: 1 }), { ...addedConfig, mine: 1 });
});

test('a backend that changes the request it is given changes nothing of what is done', async (t) => {
  const client = createClient(await openService(t, 'Meddling'), {});
  t.is(
    (await client.send('POST', '/v1/graph/invoke', { messages: [user('x')], config: { thread_id: 'mine' } })).status,
    200,
  );
  t.is((await client.send('GET', '/v1/threads')).status, 200);
  t.is((await client.send('GET', '/v1/threads/mine')).status, 200);
});

test('a class that extends nothing will do', async (t) => {
  t.is((await createClient(await openService(t, 'Unrelated')).send('GET', '/v1/threads')).status, 200);
});

for (const [name, why] of [
  ['Nothing', 'has no method "authenticate"'],
  ['TakesNone', '"authenticate" must declare one parameter or two, not 0'],
  ['Throws', 'cannot be made: TypeError: no directory is set'],
  ['object', 'is not a class'],
] as const) {
  test(`a start is stopped by ${name}, which ${why}`, async (t) => {
    const error = await t.throwsAsync(openEmbedded('who', {}, custom(name)), { instanceOf: ConfigError });
    t.is(error.message, `auth.path ${JSON.stringify(`${module}:${name}`)}: ${why}`);
  });
}

test('a start is stopped by a class that is not there', async (t) => {
  const error = await t.throwsAsync(openEmbedded('who', {}, custom('Gone')), { instanceOf: ConfigError });
  t.regex(error.message, /^auth\.path ".*:Gone": .*custom\.ts exports no "Gone", only .*ByRequest.*$/);
});

test('what a backend throws is logged, and what it was given is not', async (t) => {
  await using workspace = await makeWorkspace('who', custom('ByCredentials'));
  await using service = await startStandalone({ HOST: '127.0.0.1', ...workspace.env, LOG_LEVEL: 'trace' });
  t.true(service.lines.some((line) => line.startsWith(`auth: custom (${module}:ByCredentials); authorization: none`)));
  const token = encode('throw a-very-secret-token');
  const client = createClient(service.url, { authorization: `Bearer ${token}` });
  t.is((await client.send('GET', '/v1/threads')).status, 500);
  await service.stop('SIGTERM');
  t.true(service.lines.some((line) => line.includes('secret of the backend')));
  t.false(service.lines.some((line) => line.includes(token)));
});

test("the operator's log names the bound of a user that is too large, and the reply does not", async (t) => {
  await using workspace = await makeWorkspace('who', custom('ByRequest'));
  await using service = await startStandalone(workspace.env);
  const reply = await createClient(service.url, { 'x-order': `large ${sizes.metadata}` }).send('GET', '/v1/threads');
  t.is(reply.status, 500);
  t.notRegex(JSON.stringify(reply.body), /authenticate|bytes/);
  t.is(await service.stop('SIGTERM'), 0);
  t.regex(
    service.lines.join('\n'),
    /authenticate returned what is no plain data.*it has more than 262144 bytes as JSON/,
  );
});
