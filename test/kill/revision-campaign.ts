import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { user } from '../servers/client.ts';
import { openCluster, serviceToken, type Cluster } from '../servers/cluster.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { createSturdyClient, type SturdyClient } from './clients.ts';
import { generator } from './random.ts';
import { checkRuns, type Phase, type RevisedRun } from './revision-check.ts';

interface RevisionCampaign {
  readonly seed: number;
  /** Runs of all phases together. */
  readonly runs: number;
  readonly clients: number;
  /** Called with what happens, for a person who watches. */
  readonly onProgress?: (text: string) => void;
}

interface RevisionFindings {
  readonly accepted: number;
  /** What does not hold, each in a sentence; empty when all does. */
  readonly faults: readonly string[];
  readonly kills: number;
  readonly answered: number;
  /** The share of the threads that a ramping revision served, beside the one that was asked for, in percent. */
  readonly shares: readonly string[];
}

const agent = 'revised';
const revisions = ['v1', 'v2', 'v3', 'v4', 'v5', 'v6'] as const;

/** The share of all runs that a phase has, and how new runs are routed in it. Five switches, one of them by a ramp, and a rollback. */
const plan: readonly (Phase & { readonly share: number })[] = [
  { current: 'v1', share: 0.1 },
  { current: 'v2', share: 0.1 },
  { current: 'v2', ramping: { revision: 'v3', percent: 1 }, share: 0.1 },
  { current: 'v2', ramping: { revision: 'v3', percent: 10 }, share: 0.1 },
  { current: 'v2', ramping: { revision: 'v3', percent: 50 }, share: 0.2 },
  { current: 'v2', ramping: { revision: 'v3', percent: 100 }, share: 0.1 },
  { current: 'v3', share: 0.05 },
  { current: 'v4', share: 0.1 },
  { current: 'v3', share: 0.05 },
  { current: 'v5', share: 0.05 },
  { current: 'v6', share: 0.05 },
];

/** One thread in so many of these is asked a question, which is answered in a later phase. */
const questionEvery = 40;
const shortestMs = 1000;
const longestMs = 4000;

/**
 * Routes new runs from revision to revision of an agent, each of which has a worker process of its own, while clients start runs and
 * workers are killed; then holds what each run says against what was routed.
 */
export async function runRevisionCampaign(campaign: RevisionCampaign): Promise<RevisionFindings> {
  const { seed, runs, clients, onProgress = () => undefined } = campaign;
  const service = { agent: undefined, agents: { [agent]: agentAt(agent) } };
  await using cluster = await openCluster({
    ...{ agent: null, service, gateways: 1, threads: 1, executions: 1 },
    env: { RATE_LIMIT_REQUESTS: '0', LEASE_MS: '1500', DRAIN_SECONDS: '1' },
    workers: revisions.map((revision) => ({ service, env: { AGENT_REVISION: revision } })),
  });
  const client = createSturdyClient(cluster.urls, true);
  const rest = plan.reduce((sum, { share }) => sum - Math.round(share * runs), runs);
  const load = createLoad(client, clients);
  const kills = startKills(cluster, generator(seed));
  for (const [index, phase] of plan.entries()) {
    await route(client, cluster, phase, index);
    const count = Math.round(phase.share * runs) + (index === 0 ? rest : 0);
    await load.run(index, count);
    onProgress(`${JSON.stringify(phase)}: ${count} runs, ${kills.count()} kills`);
  }
  const { failures } = await kills.stop();
  await load.answer(plan.length - 1);
  const found = checkRuns(load.runs, plan);
  return {
    accepted: load.runs.length,
    kills: kills.count(),
    answered: load.answered(),
    shares: found.shares,
    faults: [...failures, ...load.failures, ...found.faults],
  };
}

const command = fileURLToPath(import.meta.resolve('@agent-workflow/command/main'));

/** The first phase of a revision registers it, as the deployment of its workers does; a ramp and what follows it are changes of the routing. */
async function route(client: SturdyClient, cluster: Cluster, phase: Phase, index: number): Promise<void> {
  const { current, ramping } = phase;
  const before = plan[index - 1];
  if (!ramping && !before?.ramping) return register(cluster, current, 'auto');
  if (ramping) await register(cluster, ramping.revision, 'none');
  const { body } = await client.send('GET', `/v1/agents/${agent}`);
  const { version } = (body.data as { routing: { version: number } }).routing;
  const reply = await client.send('PUT', `/v1/agents/${agent}/routing`, { version, current, ramping: ramping ?? null });
  if (reply.status !== 200) throw new Error(`the routing was answered ${reply.status} ${JSON.stringify(reply.body)}`);
}

async function register(cluster: Cluster, revision: string, routing: 'auto' | 'none'): Promise<void> {
  await using workspace = await makeWorkspace(null, { agent: undefined, agents: { [agent]: agentAt(agent) } });
  const [threads] = cluster.threads;
  const env = { ...process.env, ...workspace.env, THREADS_ADDRESS: threads?.address, SERVICE_TOKEN: serviceToken };
  await promisify(execFile)(process.execPath, [command, 'agents', 'register', '--routing', routing], {
    env: { ...env, AGENT_REVISION: revision },
  });
}

interface Kills {
  readonly count: () => number;
  readonly stop: () => Promise<{ readonly failures: readonly string[] }>;
}

/** Kills one worker after the other, and starts each again at once. */
function startKills({ workers }: Cluster, random: () => number): Kills {
  const over = new AbortController();
  const failures: string[] = [];
  let count = 0;
  const killing = (async () => {
    while (!over.signal.aborted) {
      const ms = shortestMs + random() * (longestMs - shortestMs);
      await delay(ms, undefined, { signal: over.signal });
      const worker = workers[Math.floor(random() * workers.length)];
      if (worker === undefined) return;
      await worker.kill();
      count++;
      await worker.start().catch((error: unknown) => failures.push(`${worker.name} does not start: ${String(error)}`));
    }
  })();
  return {
    count: () => count,
    stop: async () => {
      over.abort();
      await killing.catch(ignoreAbort);
      return { failures };
    },
  };
}

const ignoreAbort = (error: unknown): void => {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
};

interface Load {
  readonly runs: readonly RevisedRun[];
  readonly failures: readonly string[];
  /** Starts so many runs in a phase and waits for their ends; answers what was asked two phases before. */
  readonly run: (phase: number, count: number) => Promise<void>;
  /** Answers all that is open. */
  readonly answer: (phase: number) => Promise<void>;
  readonly answered: () => number;
}

interface Asked {
  readonly threadId: string;
  readonly phase: number;
  readonly revision: string;
}

function createLoad(client: SturdyClient, clients: number): Load {
  const runs: RevisedRun[] = [];
  const failures: string[] = [];
  let asked: Asked[] = [];
  let started = 0;
  let answers = 0;

  const one = async (key: string, phase: number, threadId: string, turn: object): Promise<RevisedRun | undefined> => {
    const begun = Date.now();
    const body = { ...turn, config: { thread_id: threadId, agent } };
    const reply = await client.send('POST', '/v1/graph/invoke', body, { 'idempotency-key': key });
    if (reply.status !== 200) {
      failures.push(`run ${key}: answered ${reply.status} ${JSON.stringify(reply.body)}`);
      return undefined;
    }
    const { meta, all_messages: messages } = reply.body.data as Invoked;
    const record = (await client.send('GET', `/v1/runs/${meta.run_id}`)).body.data as { revision?: string };
    const steps = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content[0]?.text ?? '');
    const run = { threadId, phase, begun, status: meta.status, revision: record.revision ?? 'none', steps };
    runs.push(run);
    return run;
  };

  const answer = async (phase: number, isDue: (asked: Asked) => boolean): Promise<void> => {
    const due = asked.filter(isDue);
    asked = asked.filter((open) => !isDue(open));
    for (const { threadId, revision } of due) {
      const run = await one(`answer-${threadId}`, phase, threadId, { messages: [], resume: 'yes' });
      answers++;
      if (run && run.revision !== revision)
        failures.push(`thread ${threadId}: asked by ${revision}, and its answer went to ${run.revision}`);
    }
  };

  return {
    runs,
    failures,
    answered: () => answers,
    run: async (phase, count) => {
      const numbers = Array.from({ length: count }, (_, index) => started + index).values();
      started += count;
      // Of a thread one run is started after the other, so that what follows what is known.
      const busy = new Map<string, Promise<unknown>>();
      const work = async (): Promise<void> => {
        for (const number of numbers) {
          const isQuestion = number % questionEvery === 0;
          const threadId = isQuestion ? `asked-${number}` : `thread-${number % threads}`;
          const before = busy.get(threadId);
          const running = (async () => {
            await before;
            return one(`run-${number}`, phase, threadId, { messages: [user(isQuestion ? 'ask' : 'go')] });
          })();
          busy.set(threadId, running);
          const run = await running;
          if (isQuestion && run) asked.push({ threadId, phase, revision: run.revision });
        }
      };
      await Promise.all(Array.from({ length: clients }, work));
      await answer(phase, (open) => phase - open.phase >= 2);
    },
    answer: (phase) => answer(phase, () => true),
  };
}

/** More than any phase has runs: in each of them a thread has at most one or two. */
const threads = 2000;

interface Invoked {
  readonly meta: { readonly run_id: string; readonly status: string };
  readonly all_messages: readonly { readonly role: string; readonly content: readonly { readonly text?: string }[] }[];
}
