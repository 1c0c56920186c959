import { user, createClient, sendingTo, type Client } from '../servers/client.ts';
import { agentAt, makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';
import { checkRun, checkThread } from './check.ts';
import type { LoadFindings } from './load.ts';
import { mixEnv, mixService, startMix } from './mix.ts';
import { generator } from './random.ts';

interface Campaign {
  readonly seed: number;
  readonly kills: number;
  /** Runs that are kept under way. */
  readonly runs: number;
  /** A file of `test/agents` that builds `steps`, without its ending. */
  readonly agent: string;
  /** Hears now and then how far it is. */
  readonly onProgress?: (text: string) => void;
}

interface Findings {
  readonly accepted: number;
  /** What does not hold, each in a sentence; empty when all does. */
  readonly faults: readonly string[];
  /** Steps that were begun again after a kill. */
  readonly restarted: number;
  /** Runs that were killed three times within one step, and given up as promised. */
  readonly givenUp: number;
  readonly mix: readonly LoadFindings[];
}

const killsPerReport = 100;
/** Threads that runs are spread over: some runs wait for others. */
const threads = 8;
/** Times between an acceptance and the kill after it, in milliseconds: mostly long enough for some step to be committed. */
const shortestLifeMs = 100;
const longestLifeMs = 300;
/** So many lives are long enough for the sweeps over deadlines, schedules and webhooks, which go on every second. */
const longLives = 0.2;
const longLifeMs = 3000;

/**
 * Kills the process again and again while runs are under way, restarts it on the same data, and then holds what is on record
 * and in the event logs against what was promised.
 */
export async function runCampaign({ seed, kills, runs, agent, onProgress }: Campaign): Promise<Findings> {
  await using workspace = await makeWorkspace(null, mixService(agentAt(agent)));
  const env = { ...workspace.env, ...mixEnv };
  const random = generator(seed);
  const accepted = new Map<string, string>();
  const ended = new Set<string>();
  let sent = 0;
  let service = await startStandalone(env);
  const mix = await startMix(
    sendingTo(() => service.url),
    seed,
  );
  try {
    for (let kill = 0; kill < kills; kill++) {
      const client = createClient(service.url);
      const open = await countOpen(client, accepted, ended);
      const sending = Array.from({ length: Math.max(0, runs - open) }, async () =>
        accept(client, sent++, accepted).catch(lost),
      );
      // Counted from the first acceptance: however slow the machine, there is something under way to kill.
      await Promise.race([...sending, ...(open > 0 ? [Promise.resolve()] : [])]);
      await aliveFor(service, lifeMs(random));
      await service.stop('SIGKILL');
      await Promise.all(sending);
      service = await startStandalone(env);
      if ((kill + 1) % killsPerReport === 0) onProgress?.(`${kill + 1} kills, ${accepted.size} accepted runs`);
    }
    const found = await mix.stop();
    return { ...(await check(createClient(service.url), service.url, accepted)), mix: found };
  } finally {
    await service[Symbol.asyncDispose]();
  }
}

/** The process died before it answered: the run may be on record or not, and is held to nothing but its thread's log. */
const lost = (): void => undefined;

/** Sends a run; its key makes sure that a lost reply is no second run, and what was told to be accepted is remembered. */
async function accept(client: Client, index: number, accepted: Map<string, string>): Promise<void> {
  const thread_id = `thread-${String(index % threads)}`;
  const reply = await client.send(
    'POST',
    '/v1/runs',
    { messages: [user(`run ${String(index)}`)], config: { thread_id }, response_granularity: 'full' },
    { 'idempotency-key': `run-${String(index)}` },
  );
  if (reply.status === 202) accepted.set((reply.body.data as { run_id: string }).run_id, thread_id);
}

/** How many accepted runs are still under way; those found ended are not asked about again. */
async function countOpen(client: Client, accepted: ReadonlyMap<string, string>, ended: Set<string>): Promise<number> {
  const asked = [...accepted.keys()].filter((id) => !ended.has(id));
  const statuses = await Promise.all(asked.map((id) => client.send('GET', `/v1/runs/${id}`)));
  for (const [index, { body }] of statuses.entries()) {
    const { status } = body.data as { status: string };
    if (status !== 'queued' && status !== 'running') ended.add(asked[index] ?? '');
  }
  return accepted.size - ended.size;
}

const lifeMs = (random: () => number): number =>
  random() < longLives ? longLifeMs * random() : shortestLifeMs + random() * (longestLifeMs - shortestLifeMs);

/** The process is let live so long: the one place where time itself is what is tested. */
async function aliveFor({ child }: StandaloneProcess, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function check(
  client: Client,
  url: string,
  accepted: ReadonlyMap<string, string>,
): Promise<Omit<Findings, 'mix'>> {
  const faults: string[] = [];
  let restarted = 0;
  let givenUp = 0;
  for (const runId of accepted.keys()) {
    const found = await checkRun(client, url, runId);
    faults.push(...found.faults);
    restarted += found.restarted;
    if (found.isFailedByClaims) givenUp += 1;
  }
  for (const thread of new Set(accepted.values())) faults.push(...(await checkThread(client, thread)));
  return { accepted: accepted.size, faults, restarted, givenUp };
}
