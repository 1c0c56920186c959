import { setTimeout as delay } from 'node:timers/promises';
import { openCluster, type Cluster } from '../servers/cluster.ts';
import { agentAt } from '../servers/standalone.ts';
import { createSturdyClient } from './clients.ts';
import { generator } from './random.ts';
import { checkRuns, type BegunPhase } from './revision-check.ts';
import { startKills, type Kills } from './revision-kills.ts';
import { createLoad, type Load } from './revision-load.ts';
import { agent, lostRevision, plan, retiredRevisions, revisions } from './revision-plan.ts';
import { answerRetired, checkLost, loseRuns, retire, type LostRuns } from './revision-retired.ts';
import { beginPhase } from './revision-routing.ts';

interface RevisionCampaign {
  readonly seed: number;
  /** Runs of all phases together. */
  readonly runs: number;
  readonly clients: number;
  /** Called with what happens, for a person who watches. */
  readonly onProgress?: (text: string) => void;
}

interface RevisionFindings {
  /** What does not hold, each in a sentence; empty when all does. */
  readonly faults: readonly string[];
  /** What came, but late: no fault. */
  readonly late: readonly string[];
  /** The share of the threads that a ramping revision served, beside the one that was asked for, in percent. */
  readonly shares: readonly string[];
  /** How often each thing happened. What is checked must have happened. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Phases between a question and its answer. */
const answeredAfter = 2;

/**
 * Routes new runs from revision to revision of an agent, each of which has a worker process of its own, while clients start runs and
 * processes are killed, and retires two revisions at the end; then holds what each run says against what was routed.
 */
export async function runRevisionCampaign(campaign: RevisionCampaign): Promise<RevisionFindings> {
  const { seed, runs, clients, onProgress = () => undefined } = campaign;
  await using cluster = await openRevisions();
  const client = createSturdyClient(cluster.urls, true);
  const load = createLoad(client, clients);
  const kills = startKills([...cluster.workers, ...cluster.threads, ...cluster.executions], generator(seed));
  const phases: BegunPhase[] = [];
  let lost: LostRuns = { held: [], stranded: [] };
  let answered = 0;
  for (const [index, { share, ...phase }] of plan.entries()) {
    const begun = await beginPhase(client, cluster, index);
    phases.push(begun);
    // Until then a run may have no revision, and after the lost one it may be routed to that, whose worker is gone.
    if (index === 0 || plan[index - 1]?.current === lostRevision) await delay(begun.knownAt - Date.now());
    await load.run(index, begun, Math.round(share * runs));
    if (phase.current === lostRevision) lost = await loseRuns(client, () => endWorker(cluster, kills));
    answered += await answerOwn(load, index, (asked) => index - asked >= answeredAfter);
    onProgress(`${JSON.stringify(phase)}: ${load.runs.length} runs, ${kills.count()} kills`);
  }
  const last = plan.length - 1;
  answered += await answerOwn(load, last, () => true);
  await retire(client, retiredRevisions);
  const open = load.take(() => true);
  const answers = await Promise.all(open.map((question) => answerRetired({ client, load, phase: last }, question)));
  const afterwards = await checkLost(client, lost);
  const failures = await kills.stop();
  const { faults, shares, ...counts } = checkRuns(load.runs, phases);
  const refused = answers.filter(({ isRefused }) => isRefused).length;
  return {
    late: client.late,
    shares,
    faults: [
      ...failures,
      ...load.failures,
      ...faults,
      ...answers.flatMap(({ fault }) => fault ?? []),
      ...afterwards.faults,
    ],
    counts: {
      kills: kills.count(),
      'accepted runs': load.runs.length + lost.held.length + lost.stranded.length,
      'runs held to one revision': counts.exact,
      'threads with several runs in a phase': counts.visited,
      'changes of a revision': counts.changes,
      'answers by their own revision': answered,
      'answers by the current one after a retirement': open.length - refused,
      'answers refused because the node is gone': refused,
      'runs failed by a retirement': afterwards.failed,
      'runs moved by a retirement': afterwards.moved,
    },
  };
}

const openRevisions = async (): Promise<Cluster> => {
  const service = { agent: undefined, agents: { [agent]: agentAt(agent) } };
  return openCluster({
    ...{ agent: null, service, gateways: 1, threads: 2, executions: 2 },
    env: { RATE_LIMIT_REQUESTS: '0', LEASE_MS: '1500', DRAIN_SECONDS: '1' },
    workers: revisions.map((revision) => ({ service, env: { AGENT_REVISION: revision } })),
  });
};

async function endWorker({ workers }: Cluster, kills: Kills): Promise<void> {
  const worker = workers[revisions.indexOf(lostRevision)];
  if (worker) await kills.end(worker);
}

/** Answers what was asked by revisions that stay in use. */
async function answerOwn(load: Load, phase: number, isDue: (asked: number) => boolean): Promise<number> {
  const due = load.take((question) => isDue(question.phase) && !retiredRevisions.includes(question.revision));
  for (const question of due) await load.answer(question, phase, question.revision);
  return due.length;
}
