import test from 'ava';
import { createSturdyClient, type SturdyClient } from '../kill/clients.ts';
import { user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';

const callers = 6;

interface Clients {
  /** Takes no answer but the one it asked for: what is refused or reset is tried at the other gateway, and nothing else. */
  readonly strict: SturdyClient;
  /** Tries again what is answered with 503: memory is one process on its own store, and away while it is started again. */
  readonly patient: SturdyClient;
}

interface Called {
  readonly status: number;
  /** What was answered, for whoever reads that it was not as it should be. */
  readonly text: string;
  readonly runId?: string | undefined;
  /** How often its stream was cut. */
  readonly cuts: number;
}

const kinds = [invoke, follow, remember] as const;

/** Each caller has a thread of its own, and asks for all sorts of things. */
async function invoke({ strict }: Clients, caller: number, round: number): Promise<Called> {
  const { status, body } = await strict.send('POST', '/v1/graph/invoke', ...requestOf(caller, round));
  const data = body.data as { readonly meta: { readonly run_id: string } } | undefined;
  return { status, runId: data?.meta.run_id, text: JSON.stringify(body), cuts: 0 };
}

/** What was followed, over however many gateways, is what the log gives in one piece; and the thread's state can be read. */
async function follow({ strict }: Clients, caller: number, round: number): Promise<Called> {
  const { status, body } = await strict.send('POST', '/v1/runs', ...requestOf(caller, round));
  if (status !== 202) return { status, text: JSON.stringify(body), cuts: 0 };
  const { run_id: runId } = body.data as { readonly run_id: string };
  const { text, cuts } = await strict.follow(runId);
  const uncut = await strict.follow(runId);
  if (text !== uncut.text) return { status: 0, runId, text: `followed as ${text}, in one piece ${uncut.text}`, cuts };
  const read = await strict.send('GET', `/v1/threads/thread-${caller}/state`);
  return { status: read.status, runId, text: JSON.stringify(read.body), cuts };
}

async function remember({ patient }: Clients, caller: number, round: number): Promise<Called> {
  const memory = { content: `round ${round} of ${caller}`, memory_type: 'semantic', category: 'rounds' };
  const key = { 'idempotency-key': `memory-${caller}-${round}` };
  const { status, body } = await patient.send('POST', '/v1/store/memories', memory, key);
  return { status, text: JSON.stringify(body), cuts: 0 };
}

const requestOf = (caller: number, round: number): [unknown, Readonly<Record<string, string>>] => [
  { messages: [user(`round ${round}`)], config: { thread_id: `thread-${caller}` } },
  { 'idempotency-key': `${caller}-${round}` },
];

withCluster(test, { agent: 'steps', env: { DRAIN_SECONDS: '5' } }, (cluster) => {
  test('every process is restarted in turn under load, and no request fails and no run is lost', async (t) => {
    t.timeout(180_000);
    const { urls, replicas } = cluster();
    const clients = { strict: createSturdyClient(urls, false), patient: createSturdyClient(urls, true) };
    const calls: Called[] = [];
    let isOver = false;
    const answered = Array.from({ length: callers }, () => Promise.withResolvers<undefined>());
    const work = Array.from({ length: callers }, async (_, caller) => {
      for (let round = 0; !isOver; round++) {
        calls.push(await (kinds[(round + caller) % kinds.length] as (typeof kinds)[number])(clients, caller, round));
        answered[caller]?.resolve(undefined);
      }
    });
    await Promise.race([Promise.all(answered.map(({ promise }) => promise)), Promise.all(work)]);
    const begun = performance.now();
    for (const replica of replicas) {
      const before = calls.length;
      await replica.restart();
      t.log(`${replica.name} restarted; ${calls.length - before} calls answered meanwhile`);
    }
    isOver = true;
    await Promise.all(work);
    const cuts = calls.reduce((sum, call) => sum + call.cuts, 0);
    t.log(`${calls.length} calls in ${Math.round(performance.now() - begun)} ms, ${cuts} streams cut and resumed`);
    t.deepEqual(
      calls.filter(({ status }) => status !== 200),
      [],
    );
    for (const { runId } of calls) {
      if (runId === undefined) continue;
      const { body } = await clients.strict.send('GET', `/v1/runs/${runId}`);
      t.like(body.data, { status: 'completed' } as never);
    }
    for (let caller = 0; caller < callers; caller++) {
      const path = `/v1/threads/thread-${caller}/runs?limit=1000`;
      const { runs } = (await clients.strict.send('GET', path)).body.data as { runs: { status: string }[] };
      t.deepEqual([...new Set(runs.map(({ status }) => status))], ['completed']);
    }
  });
});
