import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { registerFrom } from '@agent-workflow/execution/register';
import { stopSignal } from '@agent-workflow/kit/life';
import { clusterAbsence } from './cluster-ground.ts';
import { toEndLine, toLogLine } from './cluster-log.ts';
import { openCluster, serviceToken, type Cluster, type ClusterOptions } from './cluster.ts';
import { makeWorkspace } from './standalone.ts';
import { dropCollections, newPrefix } from './weaviate-collections.ts';
import { weaviate } from './weaviate.ts';

/**
 * Starts a cluster to play with: every process on this machine, on the real servers, until Ctrl-C. What it keeps goes with it. Its two
 * agents are in worker pools of their own, and the other processes have no code of agents; with `--config` each execution process holds
 * the agents of that file.
 */
const usage = `usage: npm run cluster -- [options]
  --gateways N, --threads N, --executions N   processes of each kind (2)
  --workers N                                 workers of each of the two agents (1)
  --port N                                    port of the first gateway (8000)
  --config FILE                               a service.json, whose agents each execution process holds
  --level LEVEL                               level of the logs (info)`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    gateways: { type: 'string', default: '2' },
    threads: { type: 'string', default: '2' },
    executions: { type: 'string', default: '2' },
    port: { type: 'string', default: '8000' },
    config: { type: 'string' },
    workers: { type: 'string', default: '1' },
    level: { type: 'string', default: 'info' },
  },
});

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The agent that comes with the service, which serves requests that name none, and one that repeats what it is told. */
const agents = {
  default: `${fileOf('../../services/execution/agents/default.ts')}:graph`,
  echo: `${fileOf('../agents/echo.ts')}:graph`,
};
const revision = 'local';

const colours = ['cyan', 'green', 'magenta', 'yellow', 'blue', 'white', 'cyanBright', 'greenBright'] as const;
const seen: string[] = [];

/** Each process has a colour of its own, where the terminal has any. */
function print(name: string, line: string): void {
  if (!seen.includes(name)) seen.push(name);
  const colour = colours[seen.indexOf(name) % colours.length] ?? 'white';
  process.stdout.write(`${styleText(colour, name.padEnd('execution 0'.length))} ${toLogLine(line)}\n`);
}

async function play(): Promise<void> {
  const gateways = Number(values.gateways);
  const first = Number(values.port);
  const stopping = stopSignal();
  await using memories = await weaviate.open();
  const prefix = newPrefix();
  await using _collections = { [Symbol.asyncDispose]: async () => dropCollections(memories.url, prefix) };
  await using cluster = await openCluster({
    agent: null,
    gateways,
    threads: Number(values.threads),
    executions: Number(values.executions),
    ports: Array.from({ length: gateways }, (_, index) => first + index),
    env: {
      LOG_LEVEL: values.level,
      ...(values.config === undefined ? {} : { SERVICE_CONFIG: values.config }),
      WEAVIATE_URL: memories.url,
      WEAVIATE_PREFIX: prefix,
    },
    ...(values.config === undefined ? inPools(Number(values.workers)) : {}),
    onLine: print,
    onEnd: (end) => print('cluster', toEndLine(end)),
  });
  if (values.config === undefined) await register(cluster);
  for (const { name, address, pid } of cluster.replicas) print('cluster', `${name} is process ${pid()}, at ${address}`);
  print('cluster', `serves at ${cluster.urls.join(' and ')}; Ctrl-C ends it`);
  if (!stopping.aborted) await once(stopping, 'abort');
  print('cluster', `${(stopping.reason as Error).message}: draining`);
  // Callers first, so that nobody calls what is gone.
  const { gateways: edge, executions, workers, threads, memories: memory } = cluster;
  for (const kind of [edge, [...executions, ...workers], [...threads, ...memory]])
    await Promise.all(kind.map((replica) => replica.stop()));
}

/** A worker pool for each agent, of so many workers. */
const inPools = (size: number): Pick<ClusterOptions, 'service' | 'workers'> => ({
  service: { agent: null, default_agent: 'default' },
  workers: Object.entries(agents).flatMap(([name, path]) =>
    Array.from({ length: size }, () => ({
      service: { agents: { [name]: path } },
      env: { AGENT_REVISION: revision },
    })),
  ),
});

/** Registers the agents and gives them new runs, as the Jobs of their charts do. */
async function register({ threads }: Pick<Cluster, 'threads'>): Promise<void> {
  for (const [name, path] of Object.entries(agents)) {
    await using workspace = await makeWorkspace(null, { agents: { [name]: path } });
    const place = { THREADS_ADDRESS: threads[0]?.address ?? '', SERVICE_TOKEN: serviceToken };
    await registerFrom({ ...place, ...workspace.env, AGENT_REVISION: revision }, 'auto');
  }
}

const absence = values.help ? undefined : (clusterAbsence() ?? weaviate.absence());
if (values.help) process.stdout.write(`${usage}\n`);
else if (absence === undefined) await play();
else {
  process.stderr.write(`${absence}\n`);
  process.exitCode = 1;
}
