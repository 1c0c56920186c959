import { setTimeout as delay } from 'node:timers/promises';
import { emittedASecond } from './agents.ts';
import { openMeasuredCluster, type MeasuredCluster } from './cluster.ts';
import { atMost, type Figure } from './figure.ts';
import { cpuMs } from './process-counters.ts';

const replicas = [2, 8];
const streams = 16;
/** The emitter waits for three seconds, and processes that have just been started compile what they do. */
const settleMs = 10_000;
const msPerSecond = 1000;
const mark = 'event: messages_chunk\n';

/** Where each chunk is a message of its own: that it is stored, and itself for the replica that has the reader. */
const neededMessages = 2;
const tolerance = 1.1;

/** What 16 streams of 50 chunks a second cost all execution services together, with two of them and with eight. */
export async function moreReplicas(seconds: number): Promise<Figure[]> {
  const measured = [];
  for (const count of replicas) measured.push(await measure(count, seconds));
  return measured.flatMap(({ count, ms, received, arrived, idle }) => [
    { name: `${count} execution services, ${streams} streams: CPU a chunk`, unit: 'ms', ours: ms },
    {
      ...{ name: '  messages received from NATS, a chunk', unit: '', ours: received },
      aim: atMost(received, neededMessages * tolerance, ''),
    },
    { name: '  chunks that arrived', unit: '%', ours: arrived * 100 },
    { name: '  CPU of all of them without streams', unit: '% of a core', ours: idle },
  ]);
}

interface Measured {
  readonly count: number;
  /** Processor time of all execution services a chunk, in milliseconds, without what they take idle. */
  readonly ms: number;
  /** Messages that NATS sent to all processes, a chunk, without those sent while idle. */
  readonly received: number;
  /** Chunks that readers got, of those that are emitted in the time. */
  readonly arrived: number;
  /** Percent of a core. */
  readonly idle: number;
}

async function measure(count: number, seconds: number): Promise<Measured> {
  await using cluster = await openMeasuredCluster({ agent: 'emitter', gateways: 1, threads: 1, executions: count });
  await delay(settleMs);
  const idle = await spent(cluster, seconds);
  const closing = new AbortController();
  let chunks = 0;
  const reading = Array.from({ length: streams }, () =>
    read(cluster.ports[0] as number, closing.signal, (found) => {
      chunks += found;
    }).catch((error: unknown) => {
      if (!closing.signal.aborted) throw error;
    }),
  );
  await delay(settleMs);
  const before = chunks;
  const busy = await spent(cluster, seconds);
  const arrived = chunks - before;
  closing.abort();
  await Promise.all(reading);
  return {
    count,
    ms: (busy.ms - idle.ms) / arrived,
    received: (busy.received - idle.received) / arrived,
    arrived: arrived / (streams * emittedASecond * seconds),
    idle: (idle.ms * 100) / (seconds * msPerSecond),
  };
}

/** What the execution services and NATS do in so many seconds. */
async function spent(cluster: MeasuredCluster, seconds: number): Promise<{ ms: number; received: number }> {
  const now = async (): Promise<{ ms: number; received: number }> => ({
    received: (await cluster.counts()).get('NATS received') ?? Number.NaN,
    ms: cluster.executions.reduce((sum, { pid }) => sum + (cpuMs(pid()) ?? Number.NaN), 0),
  });
  const before = await now();
  await delay(seconds * msPerSecond);
  const after = await now();
  return { ms: after.ms - before.ms, received: after.received - before.received };
}

/** Reads a stream until the signal fires, and counts its chunks. */
async function read(port: number, signal: AbortSignal, onChunks: (found: number) => void): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${String(port)}/v1/graph/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'go' }], response_granularity: 'low' }),
    signal,
  });
  if (!reply.body) throw new Error(`a stream was answered with ${String(reply.status)}`);
  // A mark may be cut between two parts.
  let rest = '';
  for await (const part of reply.body.pipeThrough(new TextDecoderStream())) {
    const marks = (rest + part).split(mark);
    rest = (marks.at(-1) ?? '').slice(-mark.length);
    onChunks(marks.length - 1);
  }
}
