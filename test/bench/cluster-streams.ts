import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { user, createClient } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { openPrivateCluster } from '../servers/cluster.ts';
import { atMost, type Figure } from './figure.ts';
import { residentMiB } from './process-counters.ts';

const streams = 2000;
const runs = 20;
const atOnce = 50;
const kibPerMib = 1024;

/** What streams that have nothing to say cost the one gateway that holds them, and whether that grows: `seconds` × 12 is how long it is watched. */
export async function idleStreams(seconds: number): Promise<Figure[]> {
  await using gate = await openGate();
  await using cluster = await openPrivateCluster({
    agent: 'gated',
    gateways: 1,
    threads: 1,
    executions: 1,
    env: { MAX_STREAMS_PER_PRINCIPAL: '0', RATE_LIMIT_REQUESTS: '0' },
  });
  const url = cluster.urls[0] as string;
  const pid = cluster.gateways[0]?.pid() ?? 0;
  const client = createClient(url);
  const body = { messages: [user('go')], config: { gate: gate.url } };
  const ids: string[] = [];
  for (let run = 0; run < runs; run++)
    ids.push(((await client.send('POST', '/v1/runs', body)).body.data as { run_id: string }).run_id);
  await gate.visited(runs);
  const before = residentMiB(pid) ?? Number.NaN;
  const closes: (() => void)[] = [];
  while (closes.length < streams)
    closes.push(
      ...(await Promise.all(
        Array.from({ length: atOnce }, (_, index) => follow(`${url}/v1/runs/${ids[index % runs] ?? ''}/stream`)),
      )),
    );
  const settledMs = 5000;
  await delay(settledMs);
  const opened = residentMiB(pid) ?? Number.NaN;
  await delay(seconds * 12_000);
  const later = residentMiB(pid) ?? Number.NaN;
  for (const close of closes) close();
  gate.open();
  return [
    {
      name: `gateway with ${streams} idle streams, memory a stream`,
      unit: 'KiB',
      ours: ((opened - before) * kibPerMib) / streams,
    },
    { name: '  before they came', unit: 'MiB', ours: before },
    { name: '  with them', unit: 'MiB', ours: opened },
    {
      name: `  with them, ${seconds * 12} s later`,
      unit: 'MiB',
      ours: later,
      aim: atMost(later, opened * 1.1, ' MiB'),
    },
  ];
}

/** Opens a stream and reads what it has; resolves with how to close it once the first of it has come. */
const follow = (url: string): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { agent: false }, (response) => {
      response.once('data', () => resolve(() => asked.destroy()));
      response.on('error', () => undefined);
      if (response.statusCode !== 200) reject(new Error(`a stream answered ${response.statusCode ?? 0}`));
    });
    asked.once('error', reject);
    asked.end();
  });
