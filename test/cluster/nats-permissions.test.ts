import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { connect, type NatsConnection } from 'nats';
import { openNatsClient } from '@agent-workflow/execution/adapters/nats/client/client';
import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import {
  inboxPrefixOf,
  permissionsOf,
  rulesWith,
  tokenOfAgents,
  toServerConfig,
} from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { ConfigError } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { never, within } from '@agent-workflow/protos/call';
import { eventOf, scopeOf } from '../events.ts';
import { openNatsAt, openNatsWithAccounts, openNatsWithPools, poolsPrefix } from '../servers/nats-pools.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';
import { foreignRights } from './foreign-rights.ts';
import { byLoad } from '../by-load.ts';

const revision = 'v1';
const { rules, names } = rulesWith(poolsPrefix);
const userOf = (agent: string) => ({ prefix: poolsPrefix, agents: [agent], revisions: [revision] });

/** What the server refused of these messages and subscriptions. */
async function refusedOf(
  connection: NatsConnection,
  { publish, subscribe }: ReturnType<typeof foreignRights>,
): Promise<ReadonlySet<string>> {
  const refused = new Set<string>();
  void (async () => {
    for await (const { permissionContext } of connection.status())
      if (permissionContext) refused.add(`${permissionContext.operation} ${permissionContext.subject}`);
  })();
  for (const subject of publish) connection.publish(subject, 'x');
  for (const subject of subscribe) connection.subscribe(subject, { callback: () => undefined });
  await connection.flush();
  await until(() => refused.size >= new Set(publish).size + new Set(subscribe).size, { timeoutMs: 5000 }).catch(
    () => undefined,
  );
  return refused;
}

withServer(test, privateNats(), () => {
  test.serial(
    'the user of a pool is refused every subject of another agent, and what manages or reads streams',
    async (t) => {
      await using server = await openNatsWithPools(['support', 'billing'], [revision]);
      await using _api = await openNatsAt(server.urlOf('api'));
      for (const [own, other] of [
        ['support', 'billing'],
        ['billing', 'support'],
      ] as const) {
        const rights = foreignRights(userOf(own), userOf(other));
        const connection = await connect({
          ...{ servers: new URL(server.urlOf(own)).host, user: own, pass: 'x', inboxPrefix: inboxPrefixOf([own]) },
        });
        const refused = await refusedOf(connection, rights);
        await connection.close();
        const allowed = [
          ...rights.publish.map((subject) => `publish ${subject}`),
          ...rights.subscribe.map((subject) => `subscription ${subject}`),
        ].filter((each) => !refused.has(each));
        t.deepEqual(allowed, []);
        t.log(`${own}: ${refused.size} refused`);
      }
    },
  );

  for (const openServer of [openNatsWithPools, openNatsWithAccounts])
    test.serial(`every subject that is sent has a rule, and reaches who it is for (${openServer.name})`, async (t) => {
      await using server = await openServer(['support'], [revision]);
      const tap = await connect({ servers: new URL(server.urlOf('api')).host, user: 'api', pass: 'x' });
      const seen = new Set<string>();
      tap.subscribe('>', { callback: (_error, { subject }) => void seen.add(subject) });
      await tap.flush();
      await using api = await openNatsAt(server.urlOf('api'));
      const held = { agents: ['support'], revision };
      await using worker = await openNatsAt(server.urlOf('support'), held);
      const taking = worker.queue.take(held, never);
      await api.queue.enqueue({ owner: 'u:ada', threadId: 't', runId: 'r', agent: 'support', revision });
      (await taking).settle();
      // The run has left the queue: its acknowledgement has arrived.
      const manager = await tap.jetstreamManager();
      await until(async () => (await manager.streams.info(names.runs)).state.messages === 0);
      await worker.queue.enqueue({ owner: 'u:ada', threadId: 't', runId: 'next', agent: 'support', revision: 'v2' });
      worker.eventLog.setAgent('r', 'support');
      await worker.eventLog.append(scopeOf('r'), 0, [eventOf(1, 'messages_chunk', 'a')]);
      t.is(await worker.eventLog.last('r'), 1);
      t.is(await api.eventLog.last('r'), 1);
      await worker.leases.renew(worker.workerId, 60_000);
      t.true(await api.leases.isAlive(worker.workerId));
      const driven = { agent: 'support', revisions: [{ revision, runs: 1 }] };
      worker.leases.showDriven(worker.workerId, [driven, { ...driven, agent: 'billing' }]);
      await until(() => api.leases.driven().length > 0);
      t.deepEqual(api.leases.driven(), [{ ...driven, workerId: worker.workerId }]);
      api.control.stop('r');
      api.control.stop('r', 'support');
      await using _service = await worker.codeCalls.serve(held, async ({ given }) =>
        Promise.resolve({ text: Buffer.from(JSON.stringify(given['text'])) }),
      );
      // In several parts there and back.
      const text = 'x'.repeat(1_500_000);
      const reduced = await api.codeCalls.reduce(
        { agent: 'support', revision, current: {}, given: { text } },
        within(byLoad(30_000)),
      );
      t.is(JSON.parse(Buffer.from(reduced?.['text'] ?? []).toString()), text);
      await tap.flush();
      const patterns = rules.map(([name, { all }]) => [name, toRegExp(all({ prefix: poolsPrefix, names }))] as const);
      const ruled = (subject: string): readonly string[] =>
        patterns.filter(([, pattern]) => pattern.test(subject)).map(([name]) => name);
      t.deepEqual(
        [...seen].filter((subject) => ruled(subject).length === 0),
        [],
      );
      const used = new Set([...seen].flatMap(ruled));
      t.deepEqual(
        rules.map(([name]) => name).filter((name) => !used.has(name)),
        openServer === openNatsWithPools ? ['inboxesOfOtherAccounts'] : [],
      );
      await tap.close();
    });

  for (const openServer of [openNatsWithPools, openNatsWithAccounts])
    test.serial(
      `a pool speaks for its own workers alone, and what the server sends of itself is no heartbeat and no stop (${openServer.name})`,
      async (t) => {
        await using server = await openServer(['support', 'billing']);
        await using api = await openNatsAt(server.urlOf('api'));
        await using worker = await openNatsAt(server.urlOf('support'), { agents: ['support'] });
        await using other = await openNatsAt(server.urlOf('billing'), { agents: ['billing'] });
        await worker.leases.renew(worker.workerId, 60_000);
        await other.leases.release(worker.workerId);
        t.true(await api.leases.isAlive(worker.workerId));
        const stops: string[] = [];
        using _listening = worker.control.onStop((runId) => stops.push(runId));
        const connection = await connect({
          servers: new URL(server.urlOf('billing')).host,
          user: 'billing',
          pass: 'x',
        });
        const [mine = ''] = permissionsOf({ ...userOf('billing'), revisions: [] }).publish.filter((each) =>
          each.startsWith(names.eventSubject),
        );
        for (const reply of [
          `${poolsPrefix}.control.${hashOfAgent('support')}.r`,
          `${poolsPrefix}.alive.${tokenOfAgents(['support'])}.${worker.workerId}`,
        ])
          connection.publish(mine.replace('*', 'r'), 'x', { reply });
        await connection.flush();
        t.true(await api.leases.isAlive(worker.workerId));
        api.control.stop('own', 'support');
        await until(() => stops.includes('own'));
        t.deepEqual(stops, ['own']);
        await connection.close();
      },
    );

  test.serial('no text of a pool becomes a command on a connection of the service', async (t) => {
    await using server = await openNatsWithPools(['support']);
    const isClosed: string[] = [];
    const health = { fails: (reason: string) => void isClosed.push(reason), works: () => undefined };
    await using api = await openNatsAt(server.urlOf('api'), undefined, { health });
    const tap = await connect({ servers: new URL(server.urlOf('api')).host, user: 'api', pass: 'x' });
    const seen: string[] = [];
    tap.subscribe('forged.>', { callback: (_error, { subject }) => void seen.push(subject) });
    await tap.flush();
    const pool = await connect({
      ...{ servers: new URL(server.urlOf('support')).host, user: 'support', pass: 'x' },
      inboxPrefix: inboxPrefixOf(['support']),
    });
    const run = { owner: 'u:ada', threadId: 't', runId: 'r', agent: 'support' };
    const command = 'x 12 12\r\nNATS/1.0\r\n\r\n\r\nPUB forged.x 1\r\nx\r\nHPUB junk.junk';
    const forged = [
      ...[command, 'p q', 'a..b', 'x'.repeat(5000)].map((runId) => ({ ...run, runId })),
      { ...run, takeoverEpoch: command },
      { ...run, owner: 'x'.repeat(50_000) },
      { ...run, revision: 'a b' },
    ];
    const put = `${names.helpSubject}.${hashOfAgent('support')}.put`;
    for (const each of forged) {
      const reply = await pool.request(put, JSON.stringify(each), { timeout: 5000 });
      t.is(reply.headers?.get('help-outcome'), 'refused');
    }
    const accepted = await pool.request(put, JSON.stringify(run), { timeout: 5000 });
    t.is(accepted.headers?.get('help-outcome'), 'done');
    await tap.flush();
    t.deepEqual(seen, []);
    t.deepEqual(isClosed, []);
    t.true(api.isConnected());
    await pool.close();
    await tap.close();
  });

  test.serial('a flood of questions of one pool leaves those of another their places', async (t) => {
    await using server = await openNatsWithPools(['support', 'billing']);
    await using _api = await openNatsAt(server.urlOf('api'));
    const connectAs = async (user: string): Promise<NatsConnection> =>
      connect({ servers: new URL(server.urlOf(user)).host, user, pass: 'x', inboxPrefix: inboxPrefixOf([user]) });
    const [flooding, other] = [await connectAs('support'), await connectAs('billing')];
    const send = async (connection: NatsConnection, agent: string, runId: string): Promise<string> => {
      const subject = `${names.helpSubject}.${hashOfAgent(agent)}.log`;
      const reply = await connection.request(subject, JSON.stringify({ runId, read: 'last' }), { timeout: 20_000 });
      return reply.headers?.get('help-outcome') ?? '';
    };
    for (let round = 0; round < 5; round++) {
      const flood = Array.from({ length: 400 }, async (_, index) => send(flooding, 'support', `r${index}`));
      await flooding.flush();
      t.is(await send(other, 'billing', 'r'), 'none');
      const outcomes = new Set(await Promise.all(flood));
      t.true(outcomes.has('failed'), 'the flood met its bound');
      t.true(outcomes.has('none'));
    }
    await flooding.close();
    await other.close();
  });

  test.serial(
    'a process with the user of a pool that lacks NATS_ACCESS=pool does not start, and says why',
    async (t) => {
      await using server = await openNatsWithPools(['support']);
      await t.throwsAsync(openNatsAt(server.urlOf('support')), {
        instanceOf: ConfigError,
        message: /NATS_ACCESS=pool/,
      });
    },
  );

  test.serial('a process that NATS does not let in does not start, and names the setting', async (t) => {
    await using server = await openNatsWithPools([]);
    const folder = await mkdtemp(join(tmpdir(), 'creds-'));
    t.teardown(async () => rm(folder, { recursive: true }));
    const credsFile = join(folder, 'none.creds');
    await writeFile(credsFile, 'nothing');
    const url = server.urlOf('api');
    const withoutUser = `nats://${new URL(url).host}`;
    const refused: Readonly<Record<string, Partial<Parameters<typeof openNatsClient>[0]>>> = {
      'NATS_URL: the server refuses the user or the password': { url: url.replace(':x@', ':wrong@') },
      'NATS_URL: the server refuses a process without a user, a token or credentials': { url: withoutUser },
      'NATS_TOKEN: the server refuses the token': { url: withoutUser, token: 'wrong' },
      'NATS_CREDS_FILE: the file holds no credentials': { url: withoutUser, credsFile },
      'NATS_CREDS_FILE: /nowhere/of.creds cannot be read': { url: withoutUser, credsFile: '/nowhere/of.creds' },
    };
    for (const [message, options] of Object.entries(refused))
      await t.throwsAsync(openNatsClient({ url, name: 'test', log: createLog('test', 'silent'), ...options }), {
        instanceOf: ConfigError,
        message,
      });
  });

  test.serial('a client sends no subject that holds a command', async (t) => {
    await using server = await openNatsWithPools([]);
    await using client = await openNatsClient({
      ...{ url: server.urlOf('api'), name: 'test', log: createLog('test', 'silent') },
    });
    const { connection } = client;
    const seen: string[] = [];
    connection.subscribe('forged.>', { callback: (_error, { subject }) => void seen.push(subject) });
    const command = 'a 0\r\n\r\nPUB forged.x 0\r\n\r\nPUB b';
    t.throws(() => connection.publish(command, ''), { instanceOf: TypeError });
    t.throws(() => connection.publish('a', '', { reply: command }), { instanceOf: TypeError });
    t.throws(() => connection.subscribe(command), { instanceOf: TypeError });
    t.throws(() => connection.subscribe('a', { queue: command }), { instanceOf: TypeError });
    await t.throwsAsync(client.request(command, new Uint8Array(0)), { instanceOf: TypeError });
    await t.throwsAsync(
      client.requestMany(command, new Uint8Array(0), () => true),
      { instanceOf: TypeError },
    );
    const manager = await connection.jetstreamManager({ checkAPI: false });
    await t.throwsAsync(manager.consumers.info('QUEUE', command));
    await client.flush(5000);
    t.deepEqual(seen, []);
    t.true(client.isConnected());
  });

  test('the permissions of a pool are what a NATS server reads', (t) => {
    const config = toServerConfig(permissionsOf({ prefix: '', agents: ['default'], revisions: [] }));
    t.true(config.includes('"events.37a8eec1.*"'));
    t.true(config.includes('"_INBOX_37a8eec1.>"'));
    t.false(config.includes('STREAM'));
  });
});

const toRegExp = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split('.')
      .map((word) => (word === '>' ? '.+' : word.replaceAll(/[$]/g, String.raw`\$`).replaceAll('*', '[^.]*')))
      .join(String.raw`\.`)}$`,
  );
