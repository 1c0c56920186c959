import { beginsLog, follows } from '@agent-workflow/execution/ports/log-numbers';
import { setTimeout as delay } from 'node:timers/promises';
import { stepsPerRun } from '../agents/steps.ts';
import { user } from '../servers/client.ts';
import { openPrivateCluster } from '../servers/cluster.ts';
import { agentAt } from '../servers/standalone.ts';
import { checkRun, checkThread } from './check.ts';
import { createSturdyClient, type Followed, type SturdyClient } from './clients.ts';
import { createFaults, usualWeights, type FaultKind, type Faults } from './cluster-faults.ts';
import type { LoadFindings } from './load.ts';
import { mixEnv, mixService, startMix } from './mix.ts';
import { generator } from './random.ts';

interface ClusterCampaign {
  readonly seed: number;
  readonly faults: number;
  /** Clients, each of which starts a run and follows it to its end, one after the other. */
  readonly clients: number;
  /** A file of `test/agents` that builds `steps`, without its ending. */
  readonly agent: string;
  /** `LEASE_MS` of the workers; the shipped one where absent. */
  readonly leaseMs?: number;
  readonly weights?: Partial<Readonly<Record<FaultKind, number>>>;
  /** Told what happens, for a person who watches. */
  readonly onProgress?: (text: string) => void;
}

interface ClusterFindings {
  readonly accepted: number;
  /** What does not hold, each in a sentence; empty when all does. */
  readonly faults: readonly string[];
  /** What came, but late: no fault. */
  readonly late: readonly string[];
  readonly injected: Readonly<Record<FaultKind, number>>;
  /** Steps that were begun again after a death. */
  readonly restarted: number;
  readonly givenUp: number;
  /** Runs whose events were lost with NATS, and are told from the record. */
  readonly rebuilt: number;
  /** How often a stream was cut and resumed. */
  readonly cuts: number;
  /** Runs that somebody followed while events were deleted. */
  readonly followedAcrossLoss: number;
  readonly mix: readonly LoadFindings[];
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
  /** Steps that were begun again after a death, as told to whoever followed it: a later loss of its events forgets them. */
  readonly restarted: number;
  /**
   * Whether its events may be told from the record: they were deleted since it was accepted, or could not be written for a while,
   * in which its worker may have died with them; or nobody was shown any before, because its worker died with the first.
   */
  readonly mayBeRebuilt: () => boolean;
  /** Whether its events were deleted while it was followed for the first time. */
  readonly isAcrossLoss: boolean;
  /** What a client that followed it was given where a step is missing; absent where every step is there. */
  readonly untold?: string;
}

type Counts = Pick<Faults, 'losses' | 'outages'>;

/** Breaks one part of a cluster after the other while clients use it, and then holds what is on record against what was promised. */
export async function runClusterCampaign(campaign: ClusterCampaign): Promise<ClusterFindings> {
  const { seed, leaseMs, onProgress = () => undefined } = campaign;
  await using cluster = await openPrivateCluster({
    agent: null,
    service: mixService(agentAt(campaign.agent)),
    env: { ...mixEnv, DRAIN_SECONDS: '1', ...(leaseMs === undefined ? {} : { LEASE_MS: String(leaseMs) }) },
  });
  const random = generator(seed);
  const client = createSturdyClient(cluster.urls, true);
  const weights = { ...usualWeights, ...campaign.weights };
  await using faults = createFaults({ cluster, weights, random });
  const load = startLoad(client, campaign.clients, faults);
  const mix = await startMix(client.send, seed);
  for (let fault = 1; fault <= campaign.faults; fault++) {
    await delay(shortestMs + random() * (longestMs - shortestMs));
    const kind = await faults.inject();
    onProgress(`${fault}: ${kind}, ${load.runs.length} runs ended`);
  }
  await faults.healed();
  const { runs, failures } = await load.stop();
  const beside = await mix.stop();
  onProgress(`${runs.length} runs to check`);
  const found = await check(client, cluster.urls[0] as string, runs);
  const dead = cluster.replicas
    .filter((replica) => !replica.isRunning())
    .map(({ name }) => `${name} has ended by itself`);
  return {
    ...found,
    mix: beside,
    late: client.late,
    injected: faults.done,
    faults: [...failures, ...dead, ...found.faults],
  };
}

interface Load {
  /** Those that ended so far. */
  readonly runs: readonly Run[];
  /** Resolves when each client has had its last run. */
  readonly stop: () => Promise<{ readonly runs: readonly Run[]; readonly failures: readonly string[] }>;
}

function startLoad(client: SturdyClient, clients: number, counts: Counts): Load {
  const runs: Run[] = [];
  const failures: string[] = [];
  let sent = 0;
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      const index = sent++;
      try {
        runs.push(await oneRun(client, index, counts));
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
async function oneRun(client: SturdyClient, index: number, { losses, outages }: Counts): Promise<Run> {
  const threadId = `thread-${index % threads}`;
  const before = { losses: losses(), outages: outages() };
  const { status, body } = await client.send(
    'POST',
    '/v1/runs',
    { messages: [user(`run ${index}`)], config: { thread_id: threadId }, response_granularity: 'full' },
    { 'idempotency-key': `run-${index}` },
  );
  if (status !== 202) throw new Error(`answered ${status} ${JSON.stringify(body)}`);
  const { run_id: runId } = body.data as { run_id: string };
  const followed = await client.follow(runId);
  const isAcrossLoss = losses() > before.losses;
  if (hasGap(followed)) throw new Error(`run ${runId}: followed with ${followed.cuts} cuts gave ${idsOf(followed)}`);
  const whole = await client.follow(runId);
  const wasFirst = firstOf(followed) === firstOf(whole);
  const mayBeRebuilt = (): boolean => wasFirst || outages() > before.outages;
  if (followed.text !== whole.text && losses() === before.losses) throw new Error(difference(runId, followed, whole));
  const untold = showsAllSteps(followed) ? {} : { untold: outlineOf(followed) };
  const restarted = restartsIn(followed);
  return { runId, threadId, cuts: followed.cuts, restarted, mayBeRebuilt, isAcrossLoss, ...untold };
}

const restartsIn = ({ text }: Followed): number =>
  [...text.matchAll(/^data: \{"event":"on_chain_stream","data":\{[^\n]*"status":"restarted"/gm)].length;

/** Whether every step is there as a whole message, or the run failed. */
const showsAllSteps = ({ text }: Followed): boolean =>
  /^event: error$/m.test(text) ||
  Array.from({ length: stepsPerRun }, (_, step) =>
    new RegExp(`^data: {"event":"messages_chunk","data":"","message":.*"text":"step ${step}"`, 'm').test(text),
  ).every(Boolean);

/** The number, kind, node, step and status or text of each event, for whoever looks for what became of a step. */
const outlineOf = ({ text, cuts }: Followed): string => {
  const lines = text.split('\n\n').filter((event) => event !== '');
  const outlines = lines.map((event) => {
    const seq = /^id: .*:(\d+)$/m.exec(event)?.[1] ?? '';
    const chunk = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '{}') as {
      readonly event?: string;
      readonly data?: { readonly status?: string; readonly rebuilt?: boolean };
      readonly message?: { readonly content: readonly { readonly text?: string }[] };
      readonly metadata?: { readonly node?: string; readonly step?: number };
    };
    const { node = '', step = '' } = chunk.metadata ?? {};
    const { status = '', rebuilt = false } = chunk.data ?? {};
    const whole = chunk.message?.content[0]?.text ?? '';
    return [seq, chunk.event, node, step, status, rebuilt ? 'rebuilt' : '', whole]
      .filter((part) => part !== '')
      .join(' ');
  });
  return `${cuts} cuts: ${outlines.join('; ')}`;
};

const idsOf = ({ text }: Followed): string => [...text.matchAll(/^id: .*:(\d+)$/gm)].map(([, seq]) => seq).join(' ');

const firstOf = (followed: Followed): string | undefined => idsOf(followed).split(' ')[0];

/** A log that is told again begins anew, above every number that was told; there is no other step than to the next number. */
const hasGap = (followed: Followed): boolean => {
  const numbers = idsOf(followed).split(' ').map(Number);
  return numbers.some((number, index) => {
    const before = numbers[index - 1] ?? 0;
    return !follows(before, number) && !(beginsLog(number) && number > before);
  });
};

const difference = (runId: string, followed: Followed, whole: Followed): string =>
  `run ${runId}: followed with ${followed.cuts} cuts gave ${idsOf(followed)}, in one piece ${idsOf(whole)}`;

async function check(
  client: SturdyClient,
  url: string,
  runs: readonly Run[],
): Promise<Omit<ClusterFindings, 'injected' | 'late' | 'mix'>> {
  const faults: string[] = [];
  const sums = { restarted: 0, givenUp: 0, rebuilt: 0, cuts: 0, followedAcrossLoss: 0 };
  for (const { runId, cuts, restarted, mayBeRebuilt, isAcrossLoss, untold } of runs) {
    const found = await checkRun(client, url, runId);
    faults.push(...found.faults);
    sums.restarted += restarted;
    sums.givenUp += Number(found.isFailedByClaims);
    sums.rebuilt += Number(found.isRebuilt);
    sums.cuts += cuts;
    sums.followedAcrossLoss += Number(isAcrossLoss);
    if (untold !== undefined) faults.push(`run ${runId}: whoever followed it was not told every step, with ${untold}`);
    if (found.isRebuilt && !mayBeRebuilt())
      faults.push(`run ${runId}: its events are gone although NATS never went down`);
  }
  for (const thread of new Set(runs.map(({ threadId }) => threadId)))
    faults.push(...(await checkThread(client, thread)));
  return { accepted: runs.length, faults, ...sums };
}
