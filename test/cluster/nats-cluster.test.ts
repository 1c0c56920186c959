import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { openNats } from '@agent-workflow/execution/adapters/nats/nats';
import { natsSettings, toNatsOptions } from '@agent-workflow/execution/adapters/nats/settings';
import type { RunLog } from '@agent-workflow/execution/ports/log';
import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { never } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { openAuthority } from '../servers/certificates.ts';
import { openNatsCluster } from '../servers/nats-cluster.ts';
import { privateNats } from '../servers/nats.ts';
import { withServerForLong } from '../servers/real-suite.ts';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import { eventOf, scopeOf } from '../events.ts';

const silentLog = createLog('test', 'silent');

withServerForLong(test, privateNats(), () => {
  test.serial('three servers of which each is killed in turn lose and double no event and no run', async (t) => {
    await using cluster = await openNatsCluster({ servers: 3, sync: 'always' });
    const env = {
      NATS_URL: cluster.url,
      NATS_MONITOR_URL: cluster.monitorUrl,
      NATS_REPLICAS: '3',
      DURABILITY: 'strict',
    };
    await using here = await openNatsWith(env);
    await using there = await openNatsWith(env);
    const total = 300;
    const following = [here, there].map(async ({ eventLog: log }) => collect(log));
    const writing = write(here.eventLog, total);
    const taken = takeAll(there, total);
    const queueing = enqueueAll(here, total);
    for (const index of [0, 1, 2]) {
      await cluster.kill(index);
      await pause(500);
      await cluster.restart(index);
    }
    await writing;
    await queueing;
    for (const numbers of await Promise.all(following)) t.deepEqual(numbers, range(total + 1));
    t.deepEqual(await collect(there.eventLog), range(total + 1));
    t.is((await taken).size, total);
  });

  test.serial('strict refuses a server alone, and says all that is amiss', async (t) => {
    await using server = await openNatsCluster({ servers: 1 });
    const env = { NATS_URL: server.url, NATS_MONITOR_URL: server.monitorUrl, DURABILITY: 'strict' };
    const { message } = await t.throwsAsync(openNatsWith(env), { instanceOf: ConfigError });
    t.regex(message, /NATS_REPLICAS is 1, fewer than 3/);
    t.regex(message, /NATS syncs its disks every 120000 ms/);
    await (await openNatsWith({ ...env, DURABILITY: 'default' }))[Symbol.asyncDispose]();
  });

  test.serial('a stream is brought to its settings at a start, and one that cannot be is refused', async (t) => {
    await using server = await openNatsCluster({ servers: 1 });
    const env = { NATS_URL: server.url };
    await (await openNatsWith({ ...env, EVENTS_MAX_AGE: '7200' }))[Symbol.asyncDispose]();
    await using changed = await openNatsWith({ ...env, EVENTS_MAX_AGE: '3600', EVENTS_MAX_BYTES: '1000000' });
    t.true(changed.isConnected());
    const { message } = await t.throwsAsync(openNatsWith({ ...env, NATS_REPLICAS: '3' }));
    t.regex(message, /replicas/i);
  });

  test.serial('servers that ask for a token, a password or a certificate are signed in to', async (t) => {
    await using authority = await openAuthority();
    const { certificate, key, authorities } = await authority.sign('nats');
    const client = await authority.sign('client');
    const tls = `tls { cert_file: "${certificate}", key_file: "${key}", ca_file: "${authorities}", verify: true }`;
    const ways = [
      ['authorization { token: "s3cret" }', {}, { NATS_TOKEN: 's3cret' }],
      ['authorization { user: ada, password: "love lace" }', {}, { NATS_USER: 'ada:love%20lace@' }],
      [
        tls,
        { scheme: 'tls' },
        {
          NATS_TLS_CA_FILE: authorities,
          NATS_TLS_CERT_FILE: client.certificate,
          NATS_TLS_KEY_FILE: client.key,
        },
      ],
    ] as const;
    for (const [lines, options, { NATS_USER: user = '', ...given }] of ways as readonly (readonly [
      string,
      { readonly scheme?: 'tls' },
      Readonly<Record<string, string>>,
    ])[]) {
      await using server = await openNatsCluster({ servers: 1, lines, ...options });
      await using nats = await openNatsWith({ NATS_URL: server.url.replace('://', `://${user}`), ...given });
      await nats.eventLog.append(scopeOf('r'), 0, [event(1, 'on_chain_end')]);
      t.is(await nats.eventLog.last('r'), 1);
      if (options.scheme === undefined)
        await t.throwsAsync(openNatsWith({ NATS_URL: server.url.replace('://', '://wrong:wrong@') }), {
          message: 'NATS_URL: the server refuses the user or the password',
        });
    }
  });

  test.serial(
    'whoever starts before the server goes on trying, until it is there or the start is called off',
    async (t) => {
      await using server = await openNatsCluster({ servers: 1 });
      await server.kill(0);
      await t.throwsAsync(openNatsWith({ NATS_URL: server.url }, AbortSignal.timeout(300)), { name: 'TimeoutError' });
      const opening = openNatsWith({ NATS_URL: server.url });
      await pause(300);
      await server.restart(0);
      await using nats = await opening;
      t.true(nats.isConnected());
    },
  );
});

type Nats = Awaited<ReturnType<typeof openNats>>;

const openNatsWith = async (env: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Nats> =>
  openNats(
    toNatsOptions({
      values: readEnv(natsSettings, env),
      name: 'test',
      retention: 3600,
      leaseMs: 1500,
      log: silentLog,
    }),
    signal,
  );

const event = (seq: number, kind: EventKind): RunEvent => eventOf(seq, kind, seq);

async function write(log: RunLog, total: number): Promise<void> {
  const appends: Promise<void>[] = [];
  for (let seq = 1; seq <= total; seq++) {
    appends.push(log.append(scopeOf('r'), seq - 1, [event(seq, 'messages_chunk')]));
    await pause(10);
  }
  await Promise.all([...appends, log.append(scopeOf('r'), total, [event(total + 1, 'on_chain_end')])]);
}

/** Puts runs in as the sweep does: again, when it could not be done. */
async function enqueueAll({ queue }: Nats, total: number): Promise<void> {
  for (let index = 0; index < total;) {
    try {
      await queue.enqueue({ owner: `u:${index % 9}`, threadId: 't', runId: `r${index}` });
      index++;
    } catch {
      await pause(100);
    }
  }
}

async function takeAll({ queue }: Nats, total: number): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  while (seen.size < total) {
    const { run, settle } = await queue.take({ agents: ['default'] }, never);
    settle();
    seen.add(run.runId);
  }
  return seen;
}

async function collect(log: RunLog): Promise<number[]> {
  const numbers: number[] = [];
  for await (const batch of log.follow('r', 0, never)) numbers.push(...batch.events.map(({ seq }) => seq));
  return numbers;
}

const range = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
