import { copyFile } from 'node:fs/promises';
import { ServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import { connect } from '@agent-workflow/protos/wire/connect';
import type { WireSecurity } from '@agent-workflow/protos/wire/security';
import { UnknownCaller } from '@agent-workflow/protos/unknown-caller';
import { isReachable } from '@agent-workflow/protos/wire/reach';
import { serve } from '@agent-workflow/protos/wire/serve';
import test, { type ExecutionContext } from 'ava';
import { openAuthority, type Authority } from '../servers/certificates.ts';

const notUsed = (): Promise<never> => Promise.reject(new ServiceError('BadRequest', 'reached'));
const memory: Memory = {
  store: notUsed,
  search: notUsed,
  get: notUsed,
  list: notUsed,
  update: notUsed,
  delete: notUsed,
  forget: notUsed,
};

async function serveWith(t: ExecutionContext, security: WireSecurity): ReturnType<typeof serve> {
  const options = { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: () => undefined };
  const server = await serve({ memory }, { ...options, security });
  t.teardown(() => server[Symbol.asyncDispose]());
  return server;
}

async function authority(t: ExecutionContext): Promise<Authority> {
  const opened = await openAuthority();
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened;
}

/** Keys are made beside, which holds this process up. */
const timeoutMs = 15_000;

/** The code that a caller with these credentials gets: `BadRequest` is that of the service itself. */
async function codeFor({ port }: Awaited<ReturnType<typeof serve>>, security: WireSecurity): Promise<string> {
  await using client = connect('memory', `localhost:${String(port)}`, security);
  const error = await client.get({ owner: 'u:1', memoryId: 'm' }, within(timeoutMs)).then(
    () => undefined,
    (reason: unknown) => reason as ServiceError,
  );
  return error?.code ?? 'none';
}

const away = new Set(['Unavailable', 'Timeout']);

test('a caller with the service token is let in, one without or with another is not', async (t) => {
  const server = await serveWith(t, { token: 'shared by the cluster' });
  t.is(await codeFor(server, { token: 'shared by the cluster' }), 'BadRequest');
  for (const security of [{}, { token: '' }, { token: 'another' }, { token: 'shared by the cluster ' }]) {
    t.is(await codeFor(server, security), 'Unavailable', JSON.stringify(security));
  }
});

test('a caller that is not known gets a cause that names the server and the setting, and a message that does not', async (t) => {
  const options = { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: () => undefined };
  await using server = await serve({ memory }, { ...options, security: { token: 'known' } });
  await using client = connect('memory', server.address, { token: 'another' });
  const error = await t.throwsAsync(client.get({ owner: 'u:1', memoryId: 'm' }, within(timeoutMs)), {
    message: 'a needed service is unavailable',
  });
  t.true(error.cause instanceof UnknownCaller);
  t.is(
    (error.cause as Error).message,
    `the memory service at ${server.address} does not know the caller: SERVICE_TOKEN is absent or wrong`,
  );
});

test('a server that is not there gives a cause with its address and setting, and a message without them', async (t) => {
  for (const [address, why] of [
    ['127.0.0.1:1', 'ECONNREFUSED'],
    ['nowhere.invalid:50051', 'Name resolution failed'],
  ] as const) {
    await using client = connect('memory', address);
    const error = await t.throwsAsync(client.get({ owner: 'u:1', memoryId: 'm' }, within(timeoutMs)), {
      message: 'a needed service is unavailable',
    });
    const { message } = error.cause as Error;
    t.true(message.startsWith(`the memory service does not answer at ${address} (MEMORY_ADDRESS): `), message);
    t.true(message.includes(why), message);
    t.false(await isReachable(address, {}, within(200)));
  }
});

test('a server can be found reachable without a call', async (t) => {
  const server = await serveWith(t, { token: 'known' });
  t.true(await isReachable(server.address, {}, within(timeoutMs)));
  t.false(await isReachable('127.0.0.1:1', {}, within(timeoutMs, AbortSignal.timeout(50))));
});

test('a caller without a token, or with an empty one, is of no pool, whatever hash a pool has', async (t) => {
  const everything = { name: 'all', agents: new Set(['billing']) };
  const pools = { poolOf: () => everything, onRefused: () => undefined, onMisfit: () => undefined };
  const server = await serveWith(t, { token: 'of the platform', pools });
  for (const security of [{}, { token: '' }]) t.is(await codeFor(server, security), 'Unavailable');
  t.is(await codeFor(server, { token: 'of a pool' }), 'PermissionDenied');
});

test('a token is changed while calls go on: what shows the old one and what shows the new one call each other', async (t) => {
  // As the operator's page goes about it: first all take both, then all show the new one, then the old one is no longer good.
  const stages: readonly WireSecurity[] = [
    { token: 'old' },
    { token: 'old', alsoTaken: ['new'] },
    { token: 'new', alsoTaken: ['old'] },
    { token: 'new' },
  ];
  const servers = await Promise.all(stages.map(async (security) => serveWith(t, security)));
  for (const [stage, security] of stages.entries())
    for (const [other, server] of servers.entries()) {
      const isNextToIt = Math.abs(stage - other) <= 1;
      if (isNextToIt) t.is(await codeFor(server, security), 'BadRequest', `${String(stage)} calls ${String(other)}`);
    }
  const [first, , , last] = servers;
  if (!first || !last) return t.fail();
  t.is(await codeFor(last, { token: 'old' }), 'Unavailable');
  t.is(await codeFor(first, { token: 'new' }), 'Unavailable');
  for (const token of ['', 'old,new', 'oldnew'])
    for (const server of servers) t.is(await codeFor(server, { token }), 'Unavailable', token);
});

test('a stranger is refused before a stream begins', async (t) => {
  const execution = {
    start: notUsed,
    answerQuestion: notUsed,
    wait: notUsed,
    async *follow() {
      yield { events: [] };
    },
    getGraph: notUsed,
    listAgents: notUsed,
    getAgent: notUsed,
    getHealth: notUsed,
    countOpenRuns: notUsed,
    stopRun: notUsed,
    checkTools: notUsed,
    updateState: notUsed,
    deleteThread: notUsed,
  };
  const options = { host: '127.0.0.1', port: 0, drainMs: 100, onFailure: () => undefined };
  await using server = await serve({ execution }, { ...options, security: { token: 'known' } });
  await using unauthenticated = connect('execution', `localhost:${String(server.port)}`);
  const stream = unauthenticated.follow({ owner: 'u:1', runId: 'r', after: 0 }, within(timeoutMs));
  const error = await t.throwsAsync(stream[Symbol.asyncIterator]().next(), { code: 'Unavailable' });
  t.true(error.cause instanceof UnknownCaller);
});

test('with certificates a caller without one, with a foreign or an expired one is refused', async (t) => {
  const ours = await authority(t);
  const server = await serveWith(t, { tls: await ours.sign('server') });
  t.is(await codeFor(server, { tls: await ours.sign('caller') }), 'BadRequest');

  const foreign = await (await authority(t)).sign('foreign');
  const { authorities } = await ours.sign('other');
  const refused: Record<string, WireSecurity> = {
    'no TLS at all': {},
    'a foreign certificate': { tls: { ...foreign, authorities } },
    'an expired certificate': { tls: await ours.sign('expired', -1) },
  };
  for (const [title, security] of Object.entries(refused)) {
    const code = await codeFor(server, security);
    t.true(away.has(code), `${title}: ${code}`);
  }
});

test('a caller does not speak to a server whose certificate it cannot believe', async (t) => {
  const ours = await authority(t);
  const caller: WireSecurity = { tls: await ours.sign('caller') };
  const impostor = await serveWith(t, { tls: await (await authority(t)).sign('impostor') });
  t.true(away.has(await codeFor(impostor, caller)));
  const expired = await serveWith(t, { tls: await ours.sign('late', -1) });
  t.true(away.has(await codeFor(expired, caller)));
});

test('with certificates and a token both are asked for', async (t) => {
  const ours = await authority(t);
  const server = await serveWith(t, { token: 'known', tls: await ours.sign('server') });
  const tls = await ours.sign('caller');
  t.is(await codeFor(server, { token: 'known', tls }), 'BadRequest');
  t.is(await codeFor(server, { tls }), 'Unavailable');
});

test('a certificate that is renewed on disk is taken without a restart', async (t) => {
  const ours = await authority(t);
  const late = await ours.sign('server', -1);
  const server = await serveWith(t, { tls: late });
  const caller: WireSecurity = { tls: await ours.sign('caller') };
  t.true(away.has(await codeFor(server, caller)));

  const renewed = await ours.sign('renewed');
  await copyFile(renewed.key, late.key);
  await copyFile(renewed.certificate, late.certificate);
  let code = '';
  for (let attempt = 0; attempt < 20 && code !== 'BadRequest'; attempt++) code = await codeFor(server, caller);
  t.is(code, 'BadRequest');
});
