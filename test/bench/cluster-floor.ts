import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { types, type Client } from 'cassandra-driver';
import { privateCassandra } from '../servers/cassandra.ts';
import { openClient, openKeyspace } from '../servers/cassandra-keyspace.ts';
import type { Figure } from './figure.ts';
import { cpuMsBelow } from './process-counters.ts';

const callers = 16;
const warmUps = 5;
/** About what the cluster makes on two cores, an invoke a second. */
const pace = 120;

const ofThread = 'owner = ? AND thread_id = ? AND kind = 0';
const putHead = `UPDATE thread SET at = ?, stamp = ?, head = ?, layout = ? WHERE ${ofThread} AND n = 0 AND id = '' IF stamp = ?`;
const putRow = 'INSERT INTO thread (owner, thread_id, kind, n, id, message_id, json) VALUES (?, ?, ?, 0, ?, ?, ?)';

/** About the size of a head, and of a message. */
const head = 'x'.repeat(300);
const json = Buffer.alloc(120, 'x');
const rowsOfBatch = 4;

/**
 * What a bare driver needs for the statements of an invoke on a new thread (two conditional batches one after the other, three single writes),
 * with nothing else on the machine: no service can be faster on this Cassandra.
 */
export async function floor(seconds: number): Promise<Figure[]> {
  await using server = await privateCassandra({ isForMeasuring: true, commitlogSync: 'batch' }).open();
  await using keyspace = await openKeyspace(server);
  const { contactPoints, localDataCenter } = server;
  const place = { contactPoints: [...contactPoints], localDataCenter, keyspace: keyspace.options.keyspace };
  await using client = openClient(place);
  await client.connect();
  for (let part = 0; part < warmUps; part++) await measure(client, seconds, 0);
  const busy = await measure(client, seconds, 0);
  const paced = await measure(client, seconds, (callers * 1000) / pace);
  return [
    { name: `statements of an invoke alone, ${String(callers)} callers`, unit: '/s', ours: busy.perSecond },
    { name: '  CPU of Cassandra', unit: 'ms', ours: busy.cassandraMs },
    { name: '  CPU of the driver', unit: 'ms', ours: busy.driverMs },
    { name: '  the same with pauses', unit: '/s', ours: paced.perSecond },
    { name: '  CPU of Cassandra', unit: 'ms', ours: paced.cassandraMs },
    { name: '  CPU of the driver', unit: 'ms', ours: paced.driverMs },
  ];
}

interface Measured {
  readonly perSecond: number;
  readonly cassandraMs: number;
  readonly driverMs: number;
}

/** So long, each caller with a pause of up to twice `pauseMs` after each invoke. */
async function measure(client: Client, seconds: number, pauseMs: number): Promise<Measured> {
  const before = { cassandra: cassandraMs(), driver: process.cpuUsage() };
  const begun = performance.now();
  const until = begun + seconds * 1000;
  let made = 0;
  const call = async (): Promise<void> => {
    for (; performance.now() < until; made++) {
      await statementsOfInvoke(client);
      if (pauseMs > 0) await delay(pauseMs * 2 * Math.random());
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  const driver = process.cpuUsage(before.driver);
  return {
    perSecond: (made * 1000) / (performance.now() - begun),
    cassandraMs: (cassandraMs() - before.cassandra) / made,
    driverMs: (driver.user + driver.system) / 1000 / made,
  };
}

const cassandraMs = (): number => cpuMsBelow().get('java') ?? Number.NaN;

async function statementsOfInvoke(client: Client): Promise<void> {
  const [thread, accepted, ended] = [randomUUID(), types.Uuid.random(), types.Uuid.random()];
  await note(client);
  await change(client, thread, null, accepted);
  await change(client, thread, accepted, ended);
  await Promise.all([note(client), note(client)]);
}

async function change(client: Client, thread: string, from: types.Uuid | null, to: types.Uuid): Promise<void> {
  const rows = Array.from({ length: rowsOfBatch }, (_, index) => ({
    query: putRow,
    params: ['owner', thread, index + 1, to.toString(), 'message', json],
  }));
  const written = await client.batch(
    [{ query: putHead, params: [to, to, head, head, 'owner', thread, from] }, ...rows],
    { prepare: true, logged: false },
  );
  if (!written.wasApplied()) throw new Error('a batch on a thread of its own was refused');
}

/** What stands for the notes and lists of a run: one write to a partition of its own. */
const note = (client: Client): Promise<unknown> =>
  client.execute(putRow, ['owner', randomUUID(), 1, '', 'note', json], { prepare: true });
