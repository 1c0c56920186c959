import { randomBytes } from 'node:crypto';
import { openRedis } from '@agent-workflow/gateway/redis/client';
import { createLog } from '@agent-workflow/kit/log';
import { openKeyspace, type Keyspace } from './cassandra-keyspace.ts';
import { cassandra, privateCassandra, type Cassandra } from './cassandra.ts';
import { clearPlace, openPlace } from './nats-adapters.ts';
import { nats, privateNats, type Nats } from './nats.ts';
import { openSchema } from './postgres-schema.ts';
import { postgres, type Postgres } from './postgres.ts';
import { privateRedis, redis, type Redis } from './redis.ts';
import type { RunOptions } from './real-process.ts';
import type { Launcher, Private } from './real.ts';
import { privateWeaviate, type Weaviate } from './weaviate.ts';

const silentLog = createLog('test', 'silent');

/** The servers that may hold the record, by the value of `THREAD_STORE`. */
export const recordServers = ['cassandra', 'postgres'] as const;
export type RecordServer = (typeof recordServers)[number];

const records: Readonly<Record<RecordServer, Launcher<unknown>>> = { cassandra, postgres };

/** Why no cluster can be had here, in a sentence; `undefined` when one can. */
export const clusterAbsence = (recordServer: RecordServer = 'cassandra'): string | undefined =>
  [records[recordServer], nats, redis].map((launcher) => launcher.absence()).find((absence) => absence !== undefined);

/** The servers below a cluster, with a place on each that is the cluster's own: a migrated keyspace, streams, keys. */
export interface Ground extends AsyncDisposable {
  /** What the processes of the cluster are told about it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Servers that nobody else uses: they can be made to fail. */
export interface PrivateGround extends Ground {
  readonly cassandra: Private<Cassandra>;
  readonly nats: Private<Nats>;
  readonly redis: Private<Redis>;
}

/** The same with a Weaviate, so that the memory service can have several replicas. */
export interface WholePrivateGround extends PrivateGround {
  readonly weaviate: Private<Weaviate>;
}

/** A migrated place of the cluster's own on the server of the record. */
const openRecord: Readonly<Record<RecordServer, () => Promise<Ground>>> = {
  cassandra: async () => {
    await using opened = new AsyncDisposableStack();
    const server = opened.use(await cassandra.open());
    const keyspace = await oneAtATime(() => openKeyspace(server));
    opened.defer(() => oneAtATime(async () => keyspace[Symbol.asyncDispose]()));
    const place = opened.move();
    return { env: cassandraEnv(server, keyspace), [Symbol.asyncDispose]: () => place.disposeAsync() };
  },
  postgres: () => openPostgresRecord(postgres),
};

/** A migrated schema of the cluster's own on this PostgreSQL. */
export async function openPostgresRecord(launcher: Launcher<Postgres>): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const { host, port, username, password, database } = opened.use(await launcher.open());
  const { options } = opened.use(await openSchema({ host, port, username, database, ...(password && { password }) }));
  const place = opened.move();
  return {
    env: {
      ...{ THREAD_STORE: 'postgres', POSTGRES_HOST: host, POSTGRES_PORT: String(port), POSTGRES_USERNAME: username },
      ...{ POSTGRES_DATABASE: database, POSTGRES_SCHEMA: options.schema },
      ...(password !== undefined && { POSTGRES_PASSWORD: password }),
    },
    [Symbol.asyncDispose]: () => place.disposeAsync(),
  };
}

/** On the servers that all tests share. Disposal removes what the cluster has left there. */
export async function openGround(recordServer: RecordServer = 'cassandra'): Promise<Ground> {
  await using opened = new AsyncDisposableStack();
  const [record, bus, edge] = await Promise.all([openRecord[recordServer](), nats.open(), redis.open()]);
  for (const server of [record, bus, edge]) opened.use(server);
  const prefix = `cluster-${randomBytes(6).toString('hex')}`;
  opened.defer(() => clearStreams(bus, prefix));
  opened.defer(() => clearKeys(edge, `${prefix}:`));
  // These servers are shared by tests that run at the same time, and so are the cores: a reply may be late without a fault.
  const env = { ...record.env, ...toEnv({ bus, edge, prefix }), REDIS_TIMEOUT_MS: '2000' };
  const everything = opened.move();
  return { env, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

let last: Promise<unknown> = Promise.resolve();

/** Cassandra makes changes to its schema one after the other: who asks for many at once waits past the time of a request. */
function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  const done = last.then(work);
  last = done.catch(() => undefined);
  return done;
}

/** On servers of the caller's own, which go with it. Cassandra acknowledges a write once it is on disk. */
export async function openPrivateGround(options: Pick<RunOptions, 'isForMeasuring'> = {}): Promise<PrivateGround> {
  await using opened = new AsyncDisposableStack();
  const [record, bus, edge] = await Promise.all([
    privateCassandra(options)
      .open()
      .then((server) => opened.use(server)),
    privateNats()
      .open()
      .then((server) => opened.use(server)),
    privateRedis()
      .open()
      .then((server) => opened.use(server)),
  ]);
  const keyspace = await openKeyspace(record);
  const env = { ...cassandraEnv(record, keyspace), ...toEnv({ bus, edge, prefix: 'cluster' }) };
  const everything = opened.move();
  return {
    ...{ env, cassandra: record, nats: bus, redis: edge },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Opens all four servers. */
export async function openWholePrivateGround(): Promise<WholePrivateGround> {
  await using opened = new AsyncDisposableStack();
  const [ground, memories] = await Promise.all([
    openPrivateGround().then((servers) => opened.use(servers)),
    privateWeaviate()
      .open()
      .then((server) => opened.use(server)),
  ]);
  const everything = opened.move();
  return {
    ...{ ...ground, weaviate: memories, env: { ...ground.env, WEAVIATE_URL: memories.url } },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const cassandraEnv = (
  { contactPoints, localDataCenter }: Cassandra,
  { options }: Keyspace,
): Readonly<Record<string, string>> => ({
  CASSANDRA_CONTACT_POINTS: contactPoints.join(','),
  CASSANDRA_LOCAL_DATACENTER: localDataCenter,
  CASSANDRA_KEYSPACE: options.keyspace,
});

interface Places {
  readonly bus: Nats;
  readonly edge: Redis;
  readonly prefix: string;
}

const toEnv = ({ bus, edge, prefix }: Places): Readonly<Record<string, string>> => ({
  NATS_URL: bus.url,
  NATS_PREFIX: prefix,
  REDIS_URL: edge.url,
  REDIS_KEY_PREFIX: `${prefix}:`,
});

async function clearStreams({ url }: Nats, prefix: string): Promise<void> {
  await using place = await openPlace(url, '', { prefix });
  await clearPlace(place);
}

async function clearKeys({ url }: Redis, prefix: string): Promise<void> {
  const config = { REDIS_URL: url, REDIS_KEY_PREFIX: prefix, REDIS_TIMEOUT_MS: 10_000 };
  await using opened = await openRedis({ config, log: silentLog });
  for (const key of (await opened.send('KEYS', `${prefix}*`)) as string[]) await opened.send('DEL', key);
}
