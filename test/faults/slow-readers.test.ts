import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createClient, user } from '../servers/client.ts';
import { openCluster } from '../servers/cluster.ts';
import { openMemoryReports, type MemoryReports } from '../servers/memory.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { withFaults, withFaultsOfCluster } from './suite.ts';
import { byLoad } from '../by-load.ts';

const readers = 100;
/**
 * What the process may hold for the readers once garbage is collected, as it is promised. What feeds buffer together (16 MiB), the
 * batches that the event log and a feed work on (4 MiB each) and 256 KiB for each reader are 49 MiB.
 */
const maxHeldMiB = 64;
/**
 * What its resident memory may grow by meanwhile: 64 MiB, and what is none of the readers' and stays when they are gone. Node collects
 * buffers that were read and dropped only once they are 64 MiB, and the allocator keeps the pages.
 */
const residentMiB = 64 + 64;
const env = { MAX_STREAMS_PER_PRINCIPAL: '0', HOST: '127.0.0.1', LOG_LEVEL: 'warn' };

/** A stream that is asked for on a plain socket, of which nothing is read until that is wanted. */
interface StillReader extends Disposable {
  readonly socket: Socket;
  /** Reads all that is left; gives the body's bytes without the framing of HTTP. */
  readonly readOn: () => Promise<string>;
}

async function openStill(url: string, runId: string): Promise<StillReader> {
  const { port } = new URL(url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET /v1/runs/${runId}/stream HTTP/1.1\r\nHost: faults\r\nConnection: close\r\n\r\n`);
  return {
    socket,
    readOn: async () => {
      const parts: Buffer[] = [];
      socket.on('data', (data: Buffer) => parts.push(data));
      socket.resume();
      await once(socket, 'close');
      return bodyOf(Buffer.concat(parts));
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

function bodyOf(reply: Buffer): string {
  let at = reply.indexOf('\r\n\r\n') + 4;
  const parts: Buffer[] = [];
  for (;;) {
    const line = reply.indexOf('\r\n', at);
    const size = Number.parseInt(reply.toString('latin1', at, line), 16);
    if (!(size > 0)) return Buffer.concat(parts).toString();
    parts.push(reply.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

async function makeRun(url: string): Promise<string> {
  const { send } = createClient(url);
  const reply = await send('POST', '/v1/runs', { messages: [user('write')] });
  return (reply.body.data as { readonly run_id: string }).run_id;
}

const readAll = async (url: string, runId: string): Promise<string> =>
  (await fetch(`${url}/v1/runs/${runId}/stream`)).text();

interface Service {
  readonly url: string;
  readonly memory: () => Promise<Memory>;
}

interface Memory {
  readonly residentMiB: number;
  readonly heldMiB: number;
}

const memoryOf = (reports: MemoryReports, pid: number | undefined) => async (): Promise<Memory> => {
  const { residentBytes, heldBytes } = await reports.read(pid ?? 0);
  return { residentMiB: residentBytes / 2 ** 20, heldMiB: heldBytes / 2 ** 20 };
};

/** Gives the process's memory once it has stopped growing. */
async function settled({ memory }: Service): Promise<Memory> {
  let before = await memory();
  for (;;) {
    const now = await memory();
    if (now.heldMiB <= before.heldMiB + 0.5 && now.residentMiB <= before.residentMiB + 1) return now;
    before = now;
  }
}

/** Readers that stop reading a run while it goes and after it: what they cost, and that they miss nothing. */
async function standStill(t: ExecutionContext, service: Service): Promise<Memory> {
  const { url } = service;
  const runId = await makeRun(url);
  using opened = new DisposableStack();
  const open = async (): Promise<StillReader> => opened.use(await openStill(url, runId));
  const live = await Promise.all(Array.from({ length: readers / 2 }, open));
  const whole = await readAll(url, runId);
  const late = await Promise.all(Array.from({ length: readers / 2 }, open));
  const during = await settled(service);
  for (const reader of [live[0], live.at(-1), late[0], late.at(-1)])
    t.true((await reader?.readOn()) === whole, 'who reads on has every byte');
  opened.dispose();
  const after = await settled(service);
  const held = during.heldMiB - after.heldMiB;
  t.log(
    `${String(readers)} readers that read nothing of ${(whole.length / 1e6).toFixed(1)} MB: held ${held.toFixed(1)} MiB,`,
    `resident ${during.residentMiB.toFixed(1)} MiB, ${after.residentMiB.toFixed(1)} when they are gone`,
  );
  t.true(held <= maxHeldMiB, `${held.toFixed(1)} MiB`);
  return during;
}

/**
 * Several times over. What the process takes for its work with such events, and for the threads that it remembers of each run, is
 * none of the readers' doing: it has done some of that before, and each time is compared to what stood before it.
 */
async function standStillOften(t: ExecutionContext, service: Service, rounds: number): Promise<void> {
  for (let time = 0; time < 6; time++) await readAll(service.url, await makeRun(service.url));
  for (let round = 0; round < rounds; round++) {
    const before = await settled(service);
    const during = await standStill(t, service);
    const cost = during.residentMiB - before.residentMiB;
    t.log(`resident memory grew by ${cost.toFixed(1)} MiB`);
    t.true(cost <= residentMiB, `${cost.toFixed(1)} MiB`);
  }
}

withFaults(test, () => {
  test.serial('a hundred readers that read nothing cost the service a bounded share of its memory', async (t) => {
    t.timeout(byLoad(120_000));
    await using workspace = await makeWorkspace('boulders');
    await using reports = await openMemoryReports();
    await using service = await startStandalone({ ...workspace.env, ...env, ...reports.env });
    await standStillOften(t, { url: service.url, memory: memoryOf(reports, service.child.pid) }, 2);
  });
});

withFaultsOfCluster(test, () => {
  test.serial('a hundred readers that read nothing cost a gateway of a cluster as little', async (t) => {
    t.timeout(byLoad(180_000));
    await using reports = await openMemoryReports();
    const processes = { gateways: 1, threads: 1, executions: 1, env: { ...env, ...reports.env } };
    await using cluster = await openCluster({ agent: 'boulders', ...processes });
    const [gateway] = cluster.gateways;
    await standStillOften(t, { url: cluster.urls[0] ?? '', memory: memoryOf(reports, gateway?.pid()) }, 1);
  });
});
