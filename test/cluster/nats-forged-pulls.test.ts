import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openNatsClient, type NatsClient } from '@agent-workflow/execution/adapters/nats/client/client';
import { hashOfAgent, lanesOfPool, type Lane } from '@agent-workflow/execution/adapters/nats/client/pools';
import { namesOf } from '@agent-workflow/execution/adapters/nats/client/names';
import { inboxPrefixOf } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { createLog } from '@agent-workflow/kit/log';
import { AckPolicy } from 'nats';
import { openNatsAt, openNatsWithAccounts, poolsPrefix } from '../servers/nats-pools.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

const log = createLog('test', 'silent');
const names = namesOf(poolsPrefix);
const support = { agents: ['support'] };
const lanes = lanesOfPool(names, { agent: 'support' });
const run = { owner: 'u:ada', threadId: 't', runId: 'r', agent: 'support' };
const hourNanos = 3_600_000_000_000;

const openAttacker = async (url: string): Promise<NatsClient> =>
  openNatsClient({ url, name: 'attacker', log, inboxPrefix: inboxPrefixOf(['support']) });

const nextOf = ({ stream, consumer }: Lane): string => `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;

withServer(test, privateNats(), () => {
  test.serial('a pull request for many runs, or for long, is refused, and the runs go to the workers', async (t) => {
    await using server = await openNatsWithAccounts(['support']);
    await using api = await openNatsAt(server.urlOf('api'));
    await using worker = await openNatsAt(server.urlOf('support'), support);
    await using attacker = await openAttacker(server.urlOf('support'));
    for (const lane of lanes)
      for (const forged of [
        { batch: 1_000_000, expires: hourNanos },
        { batch: 1_000_000 },
        { batch: 1, expires: hourNanos },
      ]) {
        const { headers } = await attacker.request(nextOf(lane), Buffer.from(JSON.stringify(forged)));
        t.is(headers?.code, 409, JSON.stringify(forged));
      }
    const taking = worker.queue.take(support, AbortSignal.timeout(byLoad(10_000)));
    await api.queue.enqueue(run);
    const taken = await taking;
    t.is(taken.run.runId, run.runId);
    taken.settle();
  });

  test.serial('consumers that were created with other bounds get the same ones', async (t) => {
    await using server = await openNatsWithAccounts(['support']);
    await using _api = await openNatsAt(server.urlOf('api'));
    await using service = await openNatsClient({ url: server.urlOf('api'), name: 'before', log });
    const manager = await service.connection.jetstreamManager();
    for (const { stream, consumer, filter } of lanes)
      await manager.consumers.add(stream, {
        ...{ durable_name: consumer, filter_subject: filter, ack_policy: AckPolicy.Explicit, max_deliver: -1 },
      });
    await using _worker = await openNatsAt(server.urlOf('support'), support);
    for (const { stream, consumer } of lanes) {
      const { config } = await manager.consumers.info(stream, consumer);
      t.is(config.max_batch, 1);
      t.is(config.max_expires, 300_000_000_000);
    }
  });

  test.serial('processes of the role api bring such consumers to these bounds when they start', async (t) => {
    await using server = await openNatsWithAccounts(['support']);
    await using _api = await openNatsAt(server.urlOf('api'));
    await using service = await openNatsClient({ url: server.urlOf('api'), name: 'before', log });
    const manager = await service.connection.jetstreamManager();
    const ackWait = 7_000_000_000;
    const before = { ack_policy: AckPolicy.Explicit, max_deliver: -1, ack_wait: ackWait };
    for (const { stream, consumer, filter } of lanes)
      await manager.consumers.add(stream, { ...before, durable_name: consumer, filter_subject: filter });
    const other = { ...before, durable_name: 'other', filter_subject: `${names.runSubject}.other.>` };
    await manager.consumers.add(names.runs, other);
    await Promise.all(
      [1, 2, 3].map(async () => {
        await using _replica = await openNatsAt(server.urlOf('api'));
        await until(async () => {
          const configs = await Promise.all(
            lanes.map(async ({ stream, consumer }) => (await manager.consumers.info(stream, consumer)).config),
          );
          return configs.every(
            (config) => config.max_batch === 1 && config.max_expires === 300_000_000_000 && config.ack_wait === ackWait,
          );
        });
      }),
    );
    t.is((await manager.consumers.info(names.runs, 'other')).config.max_batch, undefined);
  });

  test.serial(
    'a run that pull requests without an expiry take from the workers reaches one soon after it is put again, and the log says why',
    async (t) => {
      t.timeout(byLoad(120_000));
      await using server = await openNatsWithAccounts(['support']);
      const warned: unknown[][] = [];
      const warn = (...what: unknown[]): void => void warned.push(what);
      const apiLog = Object.assign(Object.create(log) as typeof log, { warn });
      await using api = await openNatsAt(server.urlOf('api'), undefined, { log: apiLog });
      await using worker = await openNatsAt(server.urlOf('support'), support);
      const attacker = await openAttacker(server.urlOf('support'));
      for (const lane of lanes)
        for (let index = 0; index < 200; index++)
          attacker.connection.publish(nextOf(lane), JSON.stringify({ batch: 1 }), {
            reply: `${names.eventSubject}.${hashOfAgent('support')}.${randomUUID()}`,
          });
      await attacker.connection.flush();
      await attacker[Symbol.asyncDispose]();
      const taken: string[] = [];
      const taking = worker.queue
        .take(support, AbortSignal.timeout(byLoad(60_000)))
        .then(({ run: { runId }, settle }) => {
          taken.push(runId);
          settle();
        });
      // As the sweep does with a run that still waits.
      await until(
        async () => {
          await api.queue.enqueue(run);
          return taken.length > 0;
        },
        { timeoutMs: 30_000 },
      );
      await taking;
      t.deepEqual(taken, [run.runId]);
      const found = warned.filter(([, text]) => String(text).includes('settled by nobody'));
      t.is(found.length, 1);
      t.like(found[0]?.[0], { agent: 'support' });
    },
  );
});
