import { setTimeout as delay } from 'node:timers/promises';
import { shareWithin } from '../quantiles.ts';
import { openCluster } from '../servers/cluster.ts';
import { until } from '../until.ts';
import { echo, registerAt, revision } from './cluster-agents.ts';
import { atMost, median, type Figure } from './figure.ts';
import { openCaller, toRequest, type Caller } from './load.ts';

const quietAgent = 'quiet';
const noisyAgent = 'noisy';

const waiting = 1000;
/** Phases with and without waiting runs take turns, so many times, with so many invokes each. */
const rounds = 8;
const samples = 600;
const queuedAtOnce = 8;
const settleMs = 3000;

const body = (agent: string): object => ({
  ...{ messages: [{ role: 'user', content: 'hello there' }], response_granularity: 'low' },
  config: { agent },
});
const invoke = toRequest('POST', '/v1/graph/invoke', body(quietAgent));
const queue = toRequest('POST', '/v1/runs', body(noisyAgent));
const openRuns = toRequest('GET', `/v1/runs?agent=${noisyAgent}&status=queued,running&limit=1`);

/** One caller's invokes of an agent, while a thousand runs of another one wait for a worker and while none does. */
export async function noisy(): Promise<Figure[]> {
  const held = { [quietAgent]: echo, [noisyAgent]: echo };
  await using cluster = await openCluster({
    agent: null,
    ...{ gateways: 1, threads: 1, executions: 1 },
    service: { agent: null, default_agent: quietAgent, auth: null },
    workers: Object.entries(held).map(([name, agent]) => ({
      service: { agent: undefined, agents: { [name]: agent } },
    })),
    env: { RATE_LIMIT_REQUESTS: '0', AGENT_REVISION: revision },
  });
  const port = Number(cluster.gateways[0]?.address.split(':')[1]);
  await registerAt(cluster, port, held);
  const [, worker] = cluster.workers;
  using caller = await openCaller(port);
  await timesOf(caller);
  const alone: number[][] = [];
  const beside: number[][] = [];
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`  round ${String(round + 1)} of ${String(rounds)} …\n`);
    await delay(settleMs);
    alone.push(await timesOf(caller));
    await worker?.stop();
    await fill(port);
    await delay(settleMs);
    beside.push(await timesOf(caller));
    await worker?.start();
    await until(async () => (await caller.send(openRuns, { keep: true })).body.includes('"runs":[]'), {
      timeoutMs: 120_000,
    });
  }
  return [0.5, 0.99].flatMap((share) => toFigures(share, alone, beside));
}

async function timesOf(caller: Caller): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < samples; turn++) times.push((await caller.send(invoke)).ms);
  return times;
}

async function fill(port: number): Promise<void> {
  await Promise.all(
    Array.from({ length: queuedAtOnce }, async () => {
      using caller = await openCaller(port);
      for (let turn = 0; turn < waiting / queuedAtOnce; turn++) await caller.send(queue);
    }),
  );
}

function toFigures(share: number, alone: readonly number[][], beside: readonly number[][]): Figure[] {
  const name = `p${String(share * 100)}`;
  const all = shareWithin(beside.flat(), share) / shareWithin(alone.flat(), share);
  const byRound = alone.map(
    (times, round) => [shareWithin(beside[round] ?? [], share), shareWithin(times, share)] as const,
  );
  return [
    { name: `invoke, nothing waits, ${name}`, unit: 'ms', ours: shareWithin(alone.flat(), share) },
    {
      ...{ name: `  ${String(waiting)} runs of another agent wait`, unit: 'ms' },
      ours: shareWithin(beside.flat(), share),
      rounds: byRound,
    },
    { name: '  ratio, all rounds together', unit: '×', ours: all, aim: atMost(all, 1.1, ' ×') },
    { name: '  ratio, median of the rounds', unit: '×', ours: median(byRound.map(([ours, bare]) => ours / bare)) },
  ];
}
