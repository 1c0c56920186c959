import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { residentMiB } from '../bench/process-counters.ts';
import { createClient, user } from '../servers/client.ts';
import { openCluster } from '../servers/cluster.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { withFaults, withFaultsOfCluster } from './suite.ts';

const readers = 100;
/**
 * What readers that do not read may cost the process together. The aim is 64: 66 to 114 were measured on two free cores, and 1,052
 * when each reader had an encoding of its own.
 */
const boundMiB = 192;
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

/** Gives the process's memory once it has stopped growing. */
async function settledMiB(pid: number): Promise<number> {
  let highest = 0;
  for (let still = 0; still < 5;) {
    const now = residentMiB(pid) ?? Number.NaN;
    still = now > highest + 1 ? 0 : still + 1;
    highest = Math.max(highest, now);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return highest;
}

/** Readers that stand still on a run while it goes and after it: what they cost, and that they miss nothing. */
async function standStill(t: ExecutionContext, url: string, pid: number): Promise<void> {
  // What the process takes for its work with such events is none of the readers' doing.
  for (let time = 0; time < 6; time++) await readAll(url, await makeRun(url));
  const before = await settledMiB(pid);
  const runId = await makeRun(url);
  using opened = new DisposableStack();
  const live = await Promise.all(Array.from({ length: readers / 2 }, () => openStill(url, runId)));
  const whole = await readAll(url, runId);
  const late = await Promise.all(Array.from({ length: readers / 2 }, () => openStill(url, runId)));
  for (const reader of [...live, ...late]) opened.use(reader);
  const after = await settledMiB(pid);
  const cost = after - before;
  t.log(
    `${String(readers)} readers that read nothing of ${(whole.length / 1e6).toFixed(1)} MB cost ${cost.toFixed(1)} MiB`,
  );
  t.true(cost <= boundMiB, `${cost.toFixed(1)} MiB`);
  for (const reader of [live[0], live.at(-1), late[0], late.at(-1)])
    t.true((await reader?.readOn()) === whole, 'who reads on has every byte');
}

withFaults(test, () => {
  test.serial('a hundred readers that read nothing cost the service a bounded share of its memory', async (t) => {
    t.timeout(60_000);
    await using workspace = await makeWorkspace('boulders');
    await using service = await startStandalone({ ...workspace.env, ...env });
    await standStill(t, service.url, service.child.pid ?? 0);
  });
});

withFaultsOfCluster(test, () => {
  test.serial('a hundred readers that read nothing cost a gateway of a cluster as little', async (t) => {
    t.timeout(120_000);
    await using cluster = await openCluster({ agent: 'boulders', gateways: 1, threads: 1, executions: 1, env });
    const [gateway] = cluster.gateways;
    await standStill(t, cluster.urls[0] ?? '', gateway?.pid() ?? 0);
  });
});
