import test from 'ava';
import { openInProcessCodeCalls } from '@agent-workflow/execution/adapters/in-process/code-calls';
import { openInProcessRunControl } from '@agent-workflow/execution/adapters/in-process/control';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { executionSettings } from '@agent-workflow/execution/config';
import { createHeldGrants } from '@agent-workflow/execution/held-grants';
import { openExecution } from '@agent-workflow/execution/open';
import { unnamedAgent } from '@agent-workflow/execution/record/agents';
import type { WorkerLeases } from '@agent-workflow/execution/ports/leases';
import { END, START, StateGraph } from '@agent-workflow/graph';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import type { Execution } from '@agent-workflow/protos/execution';
import { call, endOf, owner, start } from './execution/calls.ts';
import type { OpenServices, Services } from './execution/checks.ts';
import { resultOf } from './execution/chunks.ts';
import { gates, passGate } from './execution/gates.ts';
import { executionContract } from './execution/index.ts';
import { user } from './execution/messages.ts';
import { openPoolGround, platformToken, tokenOf } from './pool-ground.ts';

const log = createLog('test', 'silent');

interface PoolOptions extends OpenServices {
  readonly sweepMs?: number;
  /** What the pool may take of threads and memory. */
  readonly bounds?: Parameters<typeof openPoolGround>[0]['bounds'];
}

interface PoolServices extends Services {
  readonly openWorker: () => Promise<TestWorker>;
  /** The first; absent where there is nothing to run. */
  readonly worker: TestWorker | undefined;
  readonly refusals: readonly { readonly method: string }[];
  readonly limited: readonly unknown[];
  /** How far the clock of the grants is ahead, in milliseconds: for the worker and for the servers. */
  readonly advance: (ms: number) => void;
  readonly methods: readonly string[];
}

interface TestWorker extends AsyncDisposable {
  /** Its lease is gone, and it is cut off from everything. */
  readonly die: () => Promise<void>;
}

/** An API with the token of the platform, and workers with that of a pool; both over gRPC. */
async function openPoolServices({ graph, env = {}, sweepMs = 30_000, bounds }: PoolOptions): Promise<PoolServices> {
  await using opening = new AsyncDisposableStack();
  const methods: string[] = [];
  let ahead = 0;
  const ground = opening.use(
    await openPoolGround({
      pools: { team: ['default'] },
      now: () => Date.now() + ahead,
      onReached: (method) => methods.push(method),
      ...(bounds && { bounds }),
    }),
  );
  const queue = opening.use(openInProcessRunQueue());
  const leases = opening.use(openInProcessWorkerLeases());
  const control = opening.use(openInProcessRunControl());
  const eventLog = opening.use(openSqliteRunLog({ path: ':memory:' }));
  const shared = {
    agents: unnamedAgent(graph),
    codeCalls: opening.use(openInProcessCodeCalls()),
    control,
    eventLog,
    log,
    values: readEnv(executionSettings, env),
    sweepMs,
  };
  const platform = { threads: ground.as('threads', platformToken), memory: ground.as('memory', platformToken) };
  const api = opening.use(await openExecution({ ...shared, ...platform, queue, leases, drives: false }));

  const openWorker = async (): Promise<TestWorker> => {
    const grants = createHeldGrants({ log, elapsed: () => performance.now() + ahead });
    const token = tokenOf('team');
    const own = grants.bind({ threads: ground.as('threads', token), memory: ground.as('memory', token) });
    let workerId = '';
    let isDead = false;
    const cut = async (): Promise<never> => new Promise(() => undefined);
    const ownLeases: WorkerLeases = {
      ...leases,
      renew: async (id, leaseMs) => {
        workerId = id;
        if (!isDead) await leases.renew(id, leaseMs);
      },
    };
    const threads: typeof own.threads = {
      ...own.threads,
      commitStep: (request, at) => (isDead ? cut() : own.threads.commitStep(request, at)),
    };
    const worker = await openExecution({
      ...{ ...shared, ...own, threads, leases: ownLeases },
      queue: { ...queue, take: (held, signal) => queue.take(held, signal).then((taken) => (isDead ? cut() : taken)) },
      ...{ accepts: false, housekeeps: false, onDriven: grants.driven },
    });
    return {
      die: async () => {
        isDead = true;
        await leases.release(workerId);
      },
      [Symbol.asyncDispose]: async () => {
        if (!isDead) await worker.drain(1000);
        await worker[Symbol.asyncDispose]();
      },
    };
  };
  const worker = graph && opening.use(await openWorker());
  const opened = opening.move();
  return {
    ...{ ...platform, execution: api.execution, openWorker, worker, refusals: ground.refusals, methods },
    limited: ground.limited,
    advance: (ms) => {
      ahead += ms;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

executionContract(test, 'workers of a pool', async (options) => {
  const services = await openPoolServices(options);
  return {
    ...services,
    [Symbol.asyncDispose]: async () => {
      await services[Symbol.asyncDispose]();
      const [refused] = services.refusals;
      if (refused) throw new Error(`a call of the worker was refused: ${refused.method}`);
    },
  };
});

const slow = new StateGraph({})
  .addNode('first', () => ({}))
  .addNode('second', async (state, ctx) => {
    await passGate(state.context, ctx);
    await ctx.memory.store({ content: 'after the gate' });
    ctx.emit('done');
  })
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

const statusOf = async (execution: Execution, runId: string): Promise<unknown> =>
  resultOf(await endOf(execution, runId)).meta.status;

test('a run that lasts longer than a grant goes on with a new one, in its commits and in its memory', async (t) => {
  await using services = await openPoolServices({ graph: slow });
  const gate = gates.next();
  const { runId } = await start(services.execution, { messages: [user(gate.name)] });
  await gate.entered;
  services.advance(10 * 60_000);
  gate.open();
  t.is(await statusOf(services.execution, runId), 'completed');
  t.true(services.methods.includes('threads.renewGrant'));
  t.deepEqual(services.refusals, []);
  const kept = await services.memory.list({ owner, selection: {}, limit: 10, offset: 0 }, call());
  t.deepEqual(
    kept.memories.map(({ content }) => content),
    ['after the gate'],
  );
});

test('the API alone finds the run of a dead worker of a pool, and another worker of the pool continues it', async (t) => {
  await using services = await openPoolServices({ graph: slow, sweepMs: 20 });
  const { execution, threads, worker, methods, refusals } = services;
  const gate = gates.next();
  const { runId } = await start(execution, { messages: [user(gate.name)] });
  await gate.entered;
  const before = await threads.getRun({ owner, runId }, call());
  await worker?.die();
  await using _other = await services.openWorker();
  const claims = (): number => methods.filter((method) => method === 'threads.claimRun').length;
  while (claims() < 2) await new Promise((resolve) => setImmediate(resolve));
  gate.open();
  t.is(await statusOf(execution, runId), 'completed');
  t.is(before.status, 'running');
  t.deepEqual(refusals, []);
});

test('runs whose claims, commits and memories are refused because their pool calls too often end all the same', async (t) => {
  await using services = await openPoolServices({ graph: slow, bounds: { callsPerSecond: 2 } });
  const { execution, limited, refusals } = services;
  const runs = await Promise.all(
    Array.from({ length: 3 }, async (_, index) => {
      const gate = gates.next();
      gate.open();
      return start(execution, { threadId: `t${String(index)}`, messages: [user(gate.name)] });
    }),
  );
  for (const { runId } of runs) t.is(await statusOf(execution, runId), 'completed');
  t.true(limited.length > 0);
  t.deepEqual(refusals, []);
});
