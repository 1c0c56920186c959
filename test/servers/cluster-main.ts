import { once } from 'node:events';
import { parseArgs, styleText } from 'node:util';
import { ConfigError } from '@agent-workflow/kit/env';
import { stopSignal } from '@agent-workflow/kit/life';
import { clusterAbsence } from './cluster-ground.ts';
import { toJoiningText } from './cluster-joining.ts';
import { toEndLine, toLogLine } from './cluster-log.ts';
import { makeOwnPools, makePoolOf, type PlayedPools } from './cluster-pools.ts';
import { openCluster } from './cluster.ts';
import { dropCollections, newPrefix } from './weaviate-collections.ts';
import { weaviate } from './weaviate.ts';

/**
 * Starts a cluster to play with: every process on this machine, on the real servers, until Ctrl-C. What it keeps goes with it. Its agents are in
 * worker pools, one of them in two at two revisions, and the other processes have no code of agents; with `--config` each execution process holds
 * the agents of that file, with `--pools` as well they are in a pool.
 */
const usage = `usage: npm run cluster -- [options]
  --gateways N, --threads N, --executions N   processes of each kind (2)
  --workers N                                 workers of each pool (1): default at v1, echo at v1 and at v2
  --port N                                    port of the first gateway (8000)
  --config FILE                               a service.json, whose agents each execution process holds
  --pools                                     with --config: its agents are in a pool at v1, and no execution process holds them
  --level LEVEL                               level of the logs (info)`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    gateways: { type: 'string', default: '2' },
    threads: { type: 'string', default: '2' },
    executions: { type: 'string', default: '2' },
    port: { type: 'string', default: '8000' },
    config: { type: 'string' },
    pools: { type: 'boolean', default: false },
    workers: { type: 'string', default: '1' },
    level: { type: 'string', default: 'info' },
  },
});

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
  await using opened = new AsyncDisposableStack();
  const pools = await makePools();
  if (pools) opened.use(pools);
  const memories = opened.use(await weaviate.open());
  const prefix = newPrefix();
  opened.defer(() => dropCollections(memories.url, prefix));
  const cluster = opened.use(
    await openCluster({
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
      ...pools?.options,
      onLine: print,
      onEnd: (end) => print('cluster', toEndLine(end)),
    }),
  );
  await pools?.register(cluster);
  for (const { name, address, pid } of cluster.replicas) print('cluster', `${name} is process ${pid()}, at ${address}`);
  if (pools) process.stdout.write(toJoiningText({ ...cluster, ...pools }));
  print('cluster', `serves at ${cluster.urls.join(' and ')}; Ctrl-C ends it`);
  if (!stopping.aborted) await once(stopping, 'abort');
  print('cluster', `${(stopping.reason as Error).message}: draining`);
  // Callers first, so that nobody calls what is gone.
  const { gateways: edge, executions, workers, threads, memories: memory } = cluster;
  for (const kind of [edge, [...executions, ...workers], [...threads, ...memory]])
    await Promise.all(kind.map((replica) => replica.stop()));
}

/** The pools of the agents; `undefined` where each execution process holds them. */
async function makePools(): Promise<PlayedPools | undefined> {
  const size = Number(values.workers);
  if (values.config === undefined) return makeOwnPools(size);
  return values.pools ? makePoolOf(values.config, size) : undefined;
}

const absence = values.help ? undefined : (clusterAbsence() ?? weaviate.absence());
if (values.help) process.stdout.write(`${usage}\n`);
else if (absence === undefined)
  await play().catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    fail(error.message);
  });
else fail(absence);

function fail(why: string): void {
  process.stderr.write(`${why}\n`);
  process.exitCode = 1;
}
