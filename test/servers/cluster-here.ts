import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openExecutionProcess } from '@agent-workflow/execution/process';
import { openGatewayProcess } from '@agent-workflow/gateway/process';
import type { Env } from '@agent-workflow/kit/env';
import type { RunningProcess } from '@agent-workflow/runtime/process';
import { openMemoryProcess } from '@agent-workflow/memory/process';
import { openThreadsProcess } from '@agent-workflow/threads/process';
import { openGround } from './cluster-ground.ts';
import { openForwarder } from './forwarder.ts';
import type { Embedded } from './embedded.ts';
import { makePools, registerPools, type Pools } from './pools.ts';
import { makeWorkspace } from './standalone.ts';

type Open = (env: Env, stopping: AbortSignal) => Promise<RunningProcess>;

/** Replicas of each service but memory, which keeps its store to itself. */
const replicas = 2;

/**
 * Opens a cluster whose processes all live in this one: each is opened as its own `main.ts` opens it, and they reach each other
 * over gRPC only. So a test has one of its own in no more time than its keyspace takes. `url` names the gateways in turn.
 */
export async function openClusterHere(
  agent: string | null,
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, unknown>> = {},
): Promise<Embedded> {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await makeWorkspace(agent, service));
  const cluster = opened.use(await open({ workspace, pools: undefined }, env));
  return owning(cluster, opened.move());
}

/** The same with each agent in worker pools of its own, the default one at two revisions. The others hold no code of agents. */
export async function openPoolsHere(
  agent: string | null,
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, unknown>> = {},
): Promise<Embedded> {
  await using opened = new AsyncDisposableStack();
  const pools = opened.use(await makePools(agent, service));
  const cluster = opened.use(await open(pools, env));
  return owning(cluster, opened.move());
}

const owning = (cluster: Embedded, owned: AsyncDisposableStack): Embedded => ({
  get url() {
    return cluster.url;
  },
  ...(cluster.origin === undefined ? {} : { origin: cluster.origin }),
  [Symbol.asyncDispose]: () => owned.disposeAsync(),
});

interface Places extends Pick<Pools, 'workspace'> {
  /** `undefined`: each execution process holds the agents. */
  readonly pools: Pools['pools'] | undefined;
}

async function open({ workspace, pools }: Places, env: Readonly<Record<string, string>>): Promise<Embedded> {
  await using opened = new AsyncDisposableStack();
  const ground = opened.use(await openGround());
  const outcome = {
    ...{ LOG_LEVEL: 'silent', GRPC_HOST: '127.0.0.1', GRPC_PORT: '0', PORT: '0', SERVICE_TOKEN: 'of-one-test' },
    ...{ DRAIN_SECONDS: '1', ...ground.env, ...workspace.env, DATA_DIR: ':memory:' },
  };
  const start = async (open: Open, count: number, more: Readonly<Record<string, string>>): Promise<string[]> => {
    const opening = Array.from({ length: count }, async () =>
      opened.use(await open({ ...outcome, ...more, ...env }, AbortSignal.timeout(startMs))),
    );
    return (await Promise.all(opening)).map(listensOn);
  };
  const [threads, memory] = await Promise.all([
    start(openThreadsProcess, replicas, {}),
    start(openMemoryProcess, 1, {}),
  ]);
  const addresses = { THREADS_ADDRESS: targetOf(threads), MEMORY_ADDRESS: targetOf(memory) };
  const gateways = opened.use(await openForwarder());
  const bytes = opened.use(await openFilesFolder());
  const seals = { FILES_SECRET: 'a secret that gateways and workers of one test share' };
  const ofExecution = { ...addresses, ...seals, FILES_URL: gateways.url };
  if (pools) await registerPools({ pools }, { ...outcome, ...addresses });
  const execution = await start(openExecutionProcess, replicas, { ...ofExecution, ...(pools && { ROLE: 'api' }) });
  for (const { env: own } of pools ?? [])
    await start(openExecutionProcess, 1, { ...ofExecution, ...own, ROLE: 'worker' });
  const ofGateway = { ...addresses, ...seals, FILES_FOLDER: bytes.path, EXECUTION_ADDRESS: targetOf(execution) };
  const urls = await start(openGatewayProcess, replicas, ofGateway);
  gateways.leadTo(urls);
  const everything = opened.move();
  let asked = 0;
  return {
    get url() {
      return urls[asked++ % urls.length] as string;
    },
    origin: gateways.url,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** A folder that all gateways share, as they share a bucket. */
async function openFilesFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'cluster-files-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const startMs = 60_000;

const listensOn = ({ startLines }: RunningProcess): string =>
  / listens on (\S+)$/.exec(startLines.at(-1) ?? '')?.[1] ?? '';

const targetOf = (addresses: readonly string[]): string => `ipv4:${addresses.join(',')}`;
