import { user, createClient, type Client } from '../servers/client.ts';
import { agentAt, makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';
import { askingAgents, sendingTo, startAskingLoad, type AskingFindings } from './asking-load.ts';
import { checkRun, checkThread } from './check.ts';
import { startDearLoad, type DearFindings } from './dear-load.ts';
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
  readonly asking: AskingFindings;
  readonly dear: DearFindings;
}

const killsPerReport = 100;
/** Conversations with an agent that asks, held all the while. */
const conversations = 4;
/** Runs that pay, fail and are tried again, all the while. */
const purchases = 2;
/** Threads that runs are spread over: some runs wait for others. */
const threads = 8;
/** Times between an acceptance and the kill after it, in milliseconds: mostly long enough for some step to be committed. */
const shortestLifeMs = 100;
const longestLifeMs = 300;

/**
 * Kills the process again and again while runs are under way, restarts it on the same data, and then holds what is on record
 * and in the event logs against what was promised.
 */
export async function runCampaign({ seed, kills, runs, agent, onProgress }: Campaign): Promise<Findings> {
  await using workspace = await makeWorkspace(null, askingAgents(agentAt(agent)));
  const random = generator(seed);
  const accepted = new Map<string, string>();
  const ended = new Set<string>();
  let sent = 0;
  let service = await startStandalone(workspace.env);
  const send = sendingTo(() => service.url);
  // Its own numbers, so that the seed decides the kills whichever conversation is first.
  const load = startAskingLoad({ send, random: generator(seed + 1), count: conversations });
  const dearLoad = await startDearLoad({ send, random: generator(seed + 2), count: purchases });
  try {
    for (let kill = 0; kill < kills; kill++) {
      const client = createClient(service.url);
      const open = await countOpen(client, accepted, ended);
      const sending = Array.from({ length: Math.max(0, runs - open) }, async () =>
        accept(client, sent++, accepted).catch(lost),
      );
      // Counted from the first acceptance: however slow the machine, there is something under way to kill.
      await Promise.race([...sending, ...(open > 0 ? [Promise.resolve()] : [])]);
      await aliveFor(service, shortestLifeMs + random() * (longestLifeMs - shortestLifeMs));
      await service.stop('SIGKILL');
      await Promise.all(sending);
      service = await startStandalone(workspace.env);
      if ((kill + 1) % killsPerReport === 0) onProgress?.(`${kill + 1} kills, ${accepted.size} accepted runs`);
    }
    const [asking, dear] = await Promise.all([load.stop(), dearLoad.stop()]);
    return { ...(await check(createClient(service.url), service.url, accepted)), asking, dear };
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
): Promise<Omit<Findings, 'asking' | 'dear'>> {
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
