import { setTimeout as delay } from 'node:timers/promises';
import { user } from '../servers/client.ts';
import { openPrivateCluster } from '../servers/cluster.ts';
import { checkRun, checkThread } from './check.ts';
import { createSturdyClient, type Followed, type SturdyClient } from './clients.ts';
import { createFaults, usualWeights, type FaultKind } from './cluster-faults.ts';
import { generator } from './random.ts';

export interface ClusterCampaign {
  readonly seed: number;
  readonly faults: number;
  /** Clients, each of which starts a run and follows it to its end, one after the other. */
  readonly clients: number;
  /** `LEASE_MS` of the workers; the shipped one where absent. */
  readonly leaseMs?: number;
  readonly weights?: Partial<Readonly<Record<FaultKind, number>>>;
  /** Told what happens, for a person who watches. */
  readonly onProgress?: (text: string) => void;
}

export interface ClusterFindings {
  readonly accepted: number;
  /** What does not hold, each in a sentence; empty when all does. */
  readonly faults: readonly string[];
  readonly injected: Readonly<Record<FaultKind, number>>;
  /** Steps that were begun again after a death. */
  readonly restarted: number;
  readonly givenUp: number;
  /** Runs whose events were lost with NATS, and are told from the record. */
  readonly rebuilt: number;
  /** How often a stream was cut and resumed. */
  readonly cuts: number;
}

/** Threads that runs are spread over: some runs wait for others. */
const threads = 8;
/** Time between two faults, in milliseconds. */
const shortestMs = 100;
const longestMs = 600;

interface Run {
  readonly runId: string;
  readonly threadId: string;
  readonly cuts: number;
  /** Whether events were deleted since it was accepted, so that they may be told from the record. */
  readonly mayBeRebuilt: () => boolean;
}

/** How often the events of all runs have been deleted so far, or begun to be. */
type CountLosses = () => number;

/** Breaks one part of a cluster after the other while clients use it, and then holds what is on record against what was promised. */
export async function runClusterCampaign(campaign: ClusterCampaign): Promise<ClusterFindings> {
  const { seed, leaseMs, onProgress = () => undefined } = campaign;
  await using cluster = await openPrivateCluster({
    agent: 'steps',
    env: { DRAIN_SECONDS: '1', ...(leaseMs === undefined ? {} : { LEASE_MS: String(leaseMs) }) },
  });
  const random = generator(seed);
  const client = createSturdyClient(cluster.urls, true);
  const weights = { ...usualWeights, ...campaign.weights };
  await using faults = createFaults({ cluster, weights, random });
  const load = startLoad(client, campaign.clients, faults.losses);
  for (let fault = 1; fault <= campaign.faults; fault++) {
    await delay(shortestMs + random() * (longestMs - shortestMs));
    const kind = await faults.inject();
    onProgress(`${fault}: ${kind}, ${load.runs.length} runs ended`);
  }
  await faults.healed();
  const { runs, failures } = await load.stop();
  onProgress(`${runs.length} runs to check`);
  const found = await check(client, cluster.urls[0] as string, runs);
  const dead = cluster.replicas
    .filter((replica) => !replica.isRunning())
    .map(({ name }) => `${name} has ended by itself`);
  return { ...found, injected: faults.done, faults: [...failures, ...dead, ...found.faults] };
}

interface Load {
  /** Those that ended so far. */
  readonly runs: readonly Run[];
  /** Resolves when each client has had its last run. */
  readonly stop: () => Promise<{ readonly runs: readonly Run[]; readonly failures: readonly string[] }>;
}

function startLoad(client: SturdyClient, clients: number, losses: CountLosses): Load {
  const runs: Run[] = [];
  const failures: string[] = [];
  let sent = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      const index = sent++;
      try {
        runs.push(await oneRun(client, index, losses));
      } catch (error) {
        failures.push(`run ${index} of the load: ${String(error)}`);
      }
    }
  };
  const working = Promise.all(Array.from({ length: clients }, work));
  return {
    runs,
    stop: async () => {
      isOver = true;
      await working;
      return { runs, failures };
    },
  };
}

/**
 * Its key makes sure that a lost reply is no second run. What was followed, over however many cuts, is what the log gives in one
 * piece, unless events were deleted meanwhile.
 */
async function oneRun(client: SturdyClient, index: number, losses: CountLosses): Promise<Run> {
  const threadId = `thread-${index % threads}`;
  const before = losses();
  const { status, body } = await client.send(
    'POST',
    '/v1/runs',
    { messages: [user(`run ${index}`)], config: { thread_id: threadId }, response_granularity: 'full' },
    { 'idempotency-key': `run-${index}` },
  );
  if (status !== 202) throw new Error(`answered ${status} ${JSON.stringify(body)}`);
  const { run_id: runId } = body.data as { run_id: string };
  const followed = await client.follow(runId);
  const told = await client.follow(runId);
  const mayBeRebuilt = (): boolean => losses() > before;
  if (followed.text !== told.text && !mayBeRebuilt()) throw new Error(difference(runId, followed, told));
  return { runId, threadId, cuts: followed.cuts, mayBeRebuilt };
}

const idsOf = ({ text }: Followed): string => [...text.matchAll(/^id: .*:(\d+)$/gm)].map(([, seq]) => seq).join(' ');

const difference = (runId: string, followed: Followed, told: Followed): string =>
  `run ${runId}: followed with ${followed.cuts} cuts gave ${idsOf(followed)}, in one piece ${idsOf(told)}`;

async function check(
  client: SturdyClient,
  url: string,
  runs: readonly Run[],
): Promise<Omit<ClusterFindings, 'injected'>> {
  const faults: string[] = [];
  const sums = { restarted: 0, givenUp: 0, rebuilt: 0, cuts: 0 };
  for (const { runId, cuts, mayBeRebuilt } of runs) {
    const found = await checkRun(client, url, runId);
    faults.push(...found.faults);
    sums.restarted += found.restarted;
    sums.givenUp += Number(found.isGivenUp);
    sums.rebuilt += Number(found.isRebuilt);
    sums.cuts += cuts;
    if (found.isRebuilt && !mayBeRebuilt()) faults.push(`run ${runId}: its events are gone although none were deleted`);
  }
  for (const thread of new Set(runs.map(({ threadId }) => threadId)))
    faults.push(...(await checkThread(client, thread)));
  return { accepted: runs.length, faults, ...sums };
}
