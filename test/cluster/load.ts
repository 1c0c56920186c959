import type { ExecutionContext } from 'ava';
import { createSturdyClient, type SturdyClient } from '../kill/clients.ts';
import type { Roll } from '../chart/upgrade-order.ts';
import { user } from '../servers/client.ts';
import type { Cluster } from '../servers/cluster.ts';
import type { Replica } from '../servers/cluster-replica.ts';

export interface Clients {
  /** Takes no answer but the one it asked for: what is refused or reset is tried at the other gateway, and nothing else. */
  readonly strict: SturdyClient;
  /** Tries again what is answered with 503: memory is one process on its own store, and unavailable while it is started again. */
  readonly patient: SturdyClient;
}

export interface Called {
  readonly status: number;
  /** What was answered, for whoever reads that it was not as it should be. */
  readonly text: string;
  readonly runId?: string | undefined;
  /** How often its stream was cut. */
  readonly cuts: number;
}

/** One sort of request, by its caller and the number of the round. */
export type Kind = (clients: Clients, caller: string, round: number) => Promise<Called>;

/** Calls for all its kinds in turn, for the first one at the beginning, with a thread of its own: `thread-{name}`. */
export interface Caller {
  readonly name: string;
  readonly kinds: Readonly<Record<string, Kind>>;
}

/** A call as the load has made it. */
export interface LoadCall extends Called {
  readonly caller: string;
  readonly kind: string;
}

const usualCount = 6;

/** Callers of the only agent. */
export const usualCallers = (name: string): readonly Caller[] =>
  Array.from({ length: usualCount }, (_, index) => ({ name: `${name}-${index}`, kinds: { invoke, follow, remember } }));

async function invoke({ strict }: Clients, caller: string, round: number): Promise<Called> {
  const { status, body } = await strict.send('POST', '/v1/graph/invoke', ...requestOf(caller, round));
  const data = body.data as { readonly meta: { readonly run_id: string } } | undefined;
  return { status, runId: data?.meta.run_id, text: JSON.stringify(body), cuts: 0 };
}

/** What was followed, over however many gateways, is what the log gives in one piece; and the thread's state can be read. */
async function follow({ strict }: Clients, caller: string, round: number): Promise<Called> {
  const { status, body } = await strict.send('POST', '/v1/runs', ...requestOf(caller, round));
  if (status !== 202) return { status, text: JSON.stringify(body), cuts: 0 };
  const { run_id: runId } = body.data as { readonly run_id: string };
  const { text, cuts } = await strict.follow(runId);
  const uncut = await strict.follow(runId);
  if (text !== uncut.text) return { status: 0, runId, text: `followed as ${text}, in one piece ${uncut.text}`, cuts };
  const read = await strict.send('GET', `/v1/threads/thread-${caller}/state`);
  return { status: read.status, runId, text: JSON.stringify(read.body), cuts };
}

async function remember({ patient }: Clients, caller: string, round: number): Promise<Called> {
  const memory = { content: `round ${round} of ${caller}`, memory_type: 'semantic', category: 'rounds' };
  const key = { 'idempotency-key': `memory-${caller}-${round}` };
  const { status, body } = await patient.send('POST', '/v1/store/memories', memory, key);
  return { status, text: JSON.stringify(body), cuts: 0 };
}

const requestOf = (caller: string, round: number): [unknown, Readonly<Record<string, string>>] => [
  { messages: [user(`round ${round}`)], config: { thread_id: `thread-${caller}` } },
  { 'idempotency-key': `${caller}-${round}` },
];

/** Which processes stand for the pods of a Deployment: those of execution serve and drive runs, so its workers have none of their own. */
const kindOf: Readonly<Record<string, string>> = {
  gateway: 'gateway',
  threads: 'threads',
  'execution-api': 'execution',
  memory: 'memory',
};

/**
 * Replaces one pod after the other, and gives how many. No pod is there beside them meanwhile, as the chart would have it.
 * `before` is called for each between its end and its new start.
 */
export async function replace(
  t: ExecutionContext,
  { replicas }: Cluster,
  roll: Roll,
  before: (replica: Replica) => void = () => undefined,
): Promise<number> {
  const { component, maxUnavailable, maxSurge, preStopSeconds, graceSeconds } = roll;
  t.true(maxUnavailable + maxSurge === 1, component);
  const kind = kindOf[component];
  const pods = kind === undefined ? [] : replicas.filter(({ name }) => name.startsWith(`${kind} `));
  for (const pod of pods) {
    const begun = performance.now();
    t.is(await pod.stop(), 0, pod.name);
    const ms = performance.now() - begun;
    t.true(ms < (graceSeconds - preStopSeconds) * 1000, `${pod.name} took ${ms} ms to end`);
    before(pod);
    await pod.start();
    t.log(`${pod.name} ended within ${Math.round(ms)} ms`);
  }
  return pods.length;
}

export interface Load {
  readonly answered: () => number;
  /** Resolves with the next answer. */
  readonly next: () => Promise<undefined>;
  /** Resolves after so many more rounds of all callers. */
  readonly rounds: (count: number) => Promise<void>;
  /** Resolves with all calls, once none is under way any more. */
  readonly stop: () => Promise<readonly LoadCall[]>;
  readonly clients: Clients;
  readonly callers: readonly Caller[];
}

/** Begins to call, and resolves once each caller has had a first answer. */
export async function startLoad({ urls }: Pick<Cluster, 'urls'>, callers: readonly Caller[]): Promise<Load> {
  const clients = { strict: createSturdyClient(urls, false), patient: createSturdyClient(urls, true) };
  const calls: LoadCall[] = [];
  let isOver = false;
  let answer = Promise.withResolvers<undefined>();
  const first = callers.map(() => Promise.withResolvers<undefined>());
  const work = Promise.all(
    callers.map(async ({ name: caller, kinds: each }, index) => {
      const kinds = Object.entries(each);
      for (let round = 0; !isOver; round++) {
        const [kind, call] = kinds[round === 0 ? 0 : (round + index) % kinds.length] as (typeof kinds)[number];
        calls.push({ ...(await call(clients, caller, round)), caller, kind });
        first[index]?.resolve(undefined);
        answer.resolve(undefined);
        answer = Promise.withResolvers();
      }
    }),
  );
  await Promise.race([Promise.all(first.map(({ promise }) => promise)), work]);
  const next = (): Promise<undefined> => answer.promise;
  return {
    ...{ clients, callers, next },
    answered: () => calls.length,
    rounds: async (count) => {
      const until = calls.length + count * callers.length;
      while (calls.length < until) await Promise.race([next(), work]);
    },
    stop: async () => {
      isOver = true;
      await work;
      return calls;
    },
  };
}

/** Adds to a failure what the processes logged of its request. */
function logAbout(t: ExecutionContext, replicas: Cluster['replicas'], reply: string): void {
  const id = /"request_id":"([^"]+)"/.exec(reply)?.[1];
  if (id === undefined) return;
  for (const { name, lines } of replicas) {
    for (const line of lines()) if (line.includes(id)) t.log(`${name}: ${line}`);
  }
}

/** No call has failed, and every run of theirs has ended as it should: by default, it has been completed. */
export async function allHolds(
  t: ExecutionContext,
  { replicas }: Pick<Cluster, 'replicas'>,
  { clients, callers, stop }: Load,
  ends: readonly string[] = ['completed'],
): Promise<readonly LoadCall[]> {
  const calls = await stop();
  const cuts = calls.reduce((sum, call) => sum + call.cuts, 0);
  t.log(`${calls.length} calls, ${cuts} streams cut and resumed`);
  const failed = calls.filter(({ status }) => status !== 200);
  for (const { text } of failed) logAbout(t, replicas, text);
  t.deepEqual(failed, []);
  for (const { runId } of calls) {
    if (runId === undefined) continue;
    const { body } = await clients.strict.send('GET', `/v1/runs/${runId}`);
    t.like(body.data, { status: 'completed' } as never, `lost: the run ${runId}`);
  }
  for (const { name } of callers) {
    const path = `/v1/threads/thread-${name}/runs?limit=1000`;
    const { runs } = (await clients.strict.send('GET', path)).body.data as { runs: { status: string }[] };
    t.deepEqual([...new Set(runs.map(({ status }) => status))].toSorted(), ends, `lost: a run of thread-${name}`);
  }
  return calls;
}
