import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { connect, ErrorCode, type NatsConnection, type StreamInfo } from 'nats';
import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import { needsOf, permissionsOf, rulesWith } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { never } from '@agent-workflow/protos/call';
import { eventOf, scopeOf } from '../events.ts';
import { openNatsCluster } from '../servers/nats-cluster.ts';
import { openNatsAt, openNatsWithAccounts, openNatsWithPools, poolsPrefix } from '../servers/nats-pools.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';
import { foreignRights, literalOf } from './foreign-rights.ts';

const { names } = rulesWith(poolsPrefix);
const userOf = (agent: string) => ({ prefix: poolsPrefix, agents: [agent], revisions: [] });

const command = fileURLToPath(import.meta.resolve('@agent-workflow/command/main'));

const connectTo = async (url: string): Promise<NatsConnection> => {
  const { host, username: user } = new URL(url);
  return connect({ servers: host, user, pass: 'x', inboxPrefix: `_INBOX_${user}` });
};

type Openers = typeof openNatsWithPools;

/**
 * What is left of the streams after a pool has named what it may not reach as the subjects of replies. `isDone` sees by the stream of events that the
 * server has come to an end with it.
 */
async function afterAttack(
  t: ExecutionContext,
  openServer: Openers,
  isDone: (events: StreamInfo | undefined, createdBefore: string) => boolean,
) {
  await using server = await openServer(['support', 'billing']);
  await using api = await openNatsAt(server.urlOf('api'));
  await using _worker = await openNatsAt(server.urlOf('support'), { agents: ['support'] });
  await using _other = await openNatsAt(server.urlOf('billing'), { agents: ['billing'] });
  api.eventLog.setAgent('r', 'billing');
  await api.eventLog.append(scopeOf('r'), 0, [eventOf(1, 'messages_chunk', 'a')]);
  const service = await connectTo(server.urlOf('api'));
  const manager = await service.jetstreamManager();
  const createdBefore = (await manager.streams.info(names.events)).created;
  const pool = await connectTo(server.urlOf('support'));
  const rights = permissionsOf(userOf('support')).publish;
  const pull = rights.find((each) => each.includes('.MSG.NEXT.')) ?? '';
  const event = (rights.find((each) => each.startsWith(names.eventSubject)) ?? '').replace('*', 'mine');
  for (const reply of [
    `$JS.API.STREAM.PURGE.${names.events}`,
    `$JS.API.STREAM.DELETE.${names.events}`,
    `$JS.API.STREAM.DELETE.${names.runs}`,
    `${names.eventSubject}.${hashOfAgent('billing')}.r`,
    `${names.runSubject}.${hashOfAgent('billing')}.0.owner.r.new`,
  ]) {
    pool.publish(pull, JSON.stringify({ batch: 1, no_wait: true }), { reply });
    pool.publish(event, 'x', { reply });
  }
  await pool.flush();
  await service.flush();
  const infoOf = (name: string): Promise<StreamInfo | undefined> =>
    manager.streams.info(name, { subjects_filter: '>' }).catch(() => undefined);
  // The server does what it is asked by a reply after it has answered the flush.
  await until(async () => isDone(await infoOf(names.events), createdBefore));
  const [events, runs] = await Promise.all([infoOf(names.events), infoOf(names.runs)]);
  t.log(
    openServer.name,
    events?.state.subjects ?? 'the events are gone',
    runs ? 'the queue is there' : 'the queue is gone',
  );
  await pool.close();
  await service.close();
  return { areWhole: events?.created === createdBefore, events: events?.state.subjects, runs: runs?.state };
}

withServer(test, privateNats(), () => {
  test.serial(
    'what a pool in its own account names as the subject of a reply is no subject of the service',
    async (t) => {
      const ofPool = `${names.eventSubject}.${hashOfAgent('support')}.mine`;
      const { areWhole, events, runs } = await afterAttack(
        t,
        openNatsWithAccounts,
        (stream) => stream?.state.subjects?.[ofPool] === 5,
      );
      t.true(areWhole);
      t.deepEqual(events, { [`${names.eventSubject}.${hashOfAgent('billing')}.r`]: 1, [ofPool]: 5 });
      t.is(runs?.messages, 0);
    },
  );

  test.serial('a pool in the account of the service has streams deleted that way, as the documents say', async (t) => {
    const isGone = (stream: StreamInfo | undefined, createdBefore: string): boolean =>
      stream?.created !== createdBefore;
    const { areWhole } = await afterAttack(t, openNatsWithPools, isGone);
    t.false(areWhole);
  });

  test.serial(
    'nothing that a pool in its own account publishes for others arrives, and nothing of theirs reaches it',
    async (t) => {
      await using server = await openNatsWithAccounts(['support', 'billing']);
      await using _api = await openNatsAt(server.urlOf('api'));
      const service = await connectTo(server.urlOf('api'));
      const arrived = new Set<string>();
      service.subscribe('>', {
        callback: (_error, message) => {
          if (message.string() === 'of a pool') arrived.add(message.subject);
        },
      });
      await service.flush();
      for (const [own, other] of [
        ['support', 'billing'],
        ['billing', 'support'],
      ] as const) {
        const { publish, subscribe } = foreignRights(userOf(own), userOf(other));
        const pool = await connectTo(server.urlOf(own));
        const received = new Set<string>();
        // Its own inboxes are in its own account, as everything that it publishes for itself.
        for (const subject of subscribe)
          pool.subscribe(subject, {
            callback: (_error, message) => {
              if (message.string() === 'of the service') received.add(message.subject);
            },
          });
        await pool.flush();
        for (const subject of publish) pool.publish(subject, 'of a pool');
        await pool.flush();
        await service.flush();
        t.deepEqual([...arrived], []);
        const sent = subscribe.map(literalOf).filter((subject) => !subject.startsWith('$') && !subject.startsWith('>'));
        for (const subject of sent) service.publish(subject, 'of the service');
        await service.flush();
        await pool.flush();
        const mine = needsOf(userOf(own)).flatMap(({ subscribe: each = [] }) => each.map(literalOf));
        t.deepEqual(
          [...received].filter((subject) => !mine.includes(subject)),
          [],
        );
        t.true(publish.length + sent.length > 100, `${publish.length + sent.length} tried`);
        t.log(`${own}: ${publish.length} published, ${sent.length} subscribed`);
        await pool.close();
      }
      await service.close();
    },
  );

  test.serial(
    'what is printed for several pools is a configuration that a server accepts, and serves the workers of each pool',
    async (t) => {
      const given = ['SUPPORT=support@v1,support@v2', 'BILLING=billing@v1,dunning'];
      const args = ['nats-permissions', '--prefix', poolsPrefix, ...given.flatMap((pool) => ['--pool', pool])];
      const { stdout } = await promisify(execFile)(process.execPath, [command, ...args]);
      const passwords = ['SERVICE', 'SUPPORT', 'BILLING'].map((account) => `${account}_PASSWORD: "x"`);
      await using server = await openNatsCluster({ servers: 1, lines: [...passwords, stdout].join('\n') });
      const urlOf = (user: string): string => server.url.replace('nats://', `nats://${user}:x@`);
      await using api = await openNatsAt(urlOf('service'));
      for (const agents of [['support'], ['billing', 'dunning']]) {
        const [user = ''] = agents;
        const held = { agents, revision: 'v1' };
        await using worker = await openNatsAt(urlOf(user), held);
        for (const agent of agents) {
          const taking = worker.queue.take(held, never);
          await api.queue.enqueue({ owner: 'u:ada', threadId: 't', runId: `of-${agent}`, agent, revision: 'v1' });
          const { run, settle } = await taking;
          t.is(run.runId, `of-${agent}`);
          settle();
        }
        await worker.leases.renew(worker.workerId, 60_000);
        t.true(await api.leases.isAlive(worker.workerId));
      }
      const errors: unknown[] = [];
      const greedy = await connectTo(urlOf('support'));
      void (async () => {
        for await (const { data } of greedy.status()) errors.push(data);
      })();
      const most = Number(/max_subscriptions: (\d+)/.exec(stdout)?.[1]);
      for (let index = 0; index <= most; index++) greedy.subscribe(`mine.${index}`, { callback: () => undefined });
      // Of a refusal other than one by permissions the client gives no more than that.
      await until(() => errors.includes(ErrorCode.ProtocolError));
      await greedy.close();
    },
  );

  test.serial(
    'a process of the role api with the user of a pool names NATS_URL while it waits, or as it ends',
    async (t) => {
      await using accounts = await openNatsWithAccounts(['support']);
      const reasons: string[] = [];
      const leaving = new AbortController();
      const fails = (reason: string): void => {
        reasons.push(reason);
        leaving.abort(new Error('seen'));
      };
      const health = { fails, works: () => undefined };
      const opening = openNatsAt(accounts.urlOf('support'), undefined, { health }, leaving.signal);
      await t.throwsAsync(opening, { message: 'seen' });
      t.deepEqual(reasons, [
        'JetStream is not ready yet, or the user of NATS_URL is that of a pool and not that of the service',
      ]);

      await using users = await openNatsWithPools(['support']);
      await t.throwsAsync(openNatsAt(users.urlOf('support')), {
        name: 'ConfigError',
        message: /^NATS_URL: its user may not manage streams: .+ the user of the service$/,
      });
    },
  );

  test('every kind of message that a pool needs has a way between two accounts, except its inboxes', (t) => {
    const stays = needsOf(userOf('support')).filter(
      ({ publish = [], subscribe = [], crosses }) => crosses === undefined && publish.length + subscribe.length > 0,
    );
    t.is(stays.length, 1);
    t.true(stays[0]?.subscribe?.every((subject) => subject.startsWith('_INBOX')));
  });
});
