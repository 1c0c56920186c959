import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { registerFrom } from '@agent-workflow/execution/register';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { ConfigError } from '@agent-workflow/kit/env';
import { namesAgents, readServiceFile } from '@agent-workflow/runtime/service-file';
import type { Ramp } from './cluster-joining.ts';
import { serviceToken, type Cluster, type ClusterOptions } from './cluster.ts';
import { agentAt, makeWorkspace } from './standalone.ts';

/** Workers that hold the same agents at the same revision. */
interface PlayedPool {
  readonly name: string;
  readonly revision: string;
  /** Its `service.json`. */
  readonly config: string;
  /** Whether new runs go to it from the start. */
  readonly routing: 'auto' | 'none';
}

/** The pools of a cluster to play with, and how it is opened with them. Disposal removes what was written for it. */
export interface PlayedPools extends AsyncDisposable {
  readonly options: Pick<ClusterOptions, 'service' | 'executionEnv' | 'workers'>;
  /** Registers the agents of each pool, as the Jobs of their charts do. */
  readonly register: (cluster: Pick<Cluster, 'threads'>) => Promise<void>;
  readonly ramp: Ramp;
  /** A revision that is free. */
  readonly revision: string;
}

/** The agent that comes with the service, which serves requests that name none, and one that repeats what it is told. */
const agents = {
  default: `${fileURLToPath(new URL('../../services/command/init/template/agent.ts', import.meta.url))}:graph`,
  echo: agentAt('echo'),
};

/** Each agent in a pool of its own, and `echo` in one more: at a second revision, to which nothing is routed yet. `size` is the workers of each. */
export async function makeOwnPools(size: number): Promise<PlayedPools> {
  await using opened = new AsyncDisposableStack();
  const configOf = async (name: keyof typeof agents): Promise<string> => {
    const { env } = opened.use(await makeWorkspace(null, { agents: { [name]: agents[name] } }));
    return env['SERVICE_CONFIG'] ?? '';
  };
  const echo = { name: 'echo', config: await configOf('echo') };
  const pools: readonly PlayedPool[] = [
    { name: 'default', config: await configOf('default'), revision: 'v1', routing: 'auto' },
    { ...echo, revision: 'v1', routing: 'auto' },
    { ...echo, revision: 'v2', routing: 'none' },
  ];
  const everything = opened.move();
  return {
    options: { service: { agent: null, default_agent: 'default' }, workers: workersOf(pools, size) },
    register: async (cluster) => register(pools, cluster),
    ramp: { agent: 'echo', current: 'v1', ramping: 'v2' },
    revision: 'v3',
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/**
 * The agents of a `service.json` in a pool, as their team would ship them. The executions have no code of agents; all else of the file holds for all
 * processes.
 * @throws ConfigError when the file does not hold, or names no agent.
 */
export async function makePoolOf(config: string, size: number): Promise<PlayedPools> {
  const file = readServiceFile(config);
  if (!namesAgents(file)) throw new ConfigError(`${config}: names no agent for a pool`);
  const names = file.agents?.map(({ name }) => name) ?? [defaultAgent];
  const fallback = file.agents ? file.defaultAgent : defaultAgent;
  const workspace = await makeWorkspace(null, { agent: null, default_agent: fallback });
  const pools: readonly PlayedPool[] = [{ name: 'agents', config: resolve(config), revision: 'v1', routing: 'auto' }];
  return {
    options: {
      executionEnv: { SERVICE_CONFIG: workspace.env['SERVICE_CONFIG'] ?? '' },
      workers: workersOf(pools, size),
    },
    register: async (cluster) => register(pools, cluster),
    ramp: { agent: names[0] ?? defaultAgent, current: 'v1', ramping: 'v2' },
    revision: 'v2',
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
  };
}

const workersOf = (pools: readonly PlayedPool[], size: number): NonNullable<ClusterOptions['workers']> =>
  pools.flatMap(({ name, revision, config }) =>
    Array.from({ length: size }, (_, index) => ({
      name: `${name} ${revision}${size === 1 ? '' : ` ${String(index + 1)}`}`,
      service: {},
      env: { SERVICE_CONFIG: config, AGENT_REVISION: revision },
    })),
  );

async function register(pools: readonly PlayedPool[], { threads }: Pick<Cluster, 'threads'>): Promise<void> {
  const place = { THREADS_ADDRESS: threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken };
  for (const { config, revision, routing } of pools)
    await registerFrom({ ...place, SERVICE_CONFIG: config, AGENT_REVISION: revision }, routing);
}
