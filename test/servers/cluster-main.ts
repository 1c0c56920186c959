import { once } from 'node:events';
import { createServer } from 'node:net';
import { styleText } from 'node:util';
import { refuseCommandLine } from '@agent-workflow/kit/command-line';
import { ConfigError } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { stopSignal } from '@agent-workflow/kit/life';
import { reasonOf } from '@agent-workflow/runtime/reason';
import { clusterAbsence } from './cluster-ground.ts';
import { toJoiningText } from './cluster-joining.ts';
import { toEndLine, toLogLine } from './cluster-log.ts';
import { clusterUsage, readClusterOptions, type ClusterOptions } from './cluster-options.ts';
import { makeOwnPools, makePoolOf, type PlayedPools } from './cluster-pools.ts';
import { openCluster } from './cluster.ts';
import { dropCollections, newPrefix } from './weaviate-collections.ts';
import { weaviate } from './weaviate.ts';

const colours = ['cyan', 'green', 'magenta', 'yellow', 'blue', 'white', 'cyanBright', 'greenBright'] as const;
const seen: string[] = [];

/** Each process has a colour of its own, where the terminal has any. */
function print(name: string, line: string): void {
  if (!seen.includes(name)) seen.push(name);
  const colour = colours[seen.indexOf(name) % colours.length] ?? 'white';
  process.stdout.write(`${styleText(colour, name.padEnd('execution 0'.length))} ${toLogLine(line)}\n`);
}

/**
 * Starts a cluster to play with: every process on this machine, on the real servers, until Ctrl-C. What it keeps goes with it. Its agents are in
 * worker pools, one of them in two at two revisions, and the other processes have no code of agents; with `--config` each execution process holds
 * the agents of that file, with `--pools` as well they are in a pool.
 */
async function play(options: ClusterOptions): Promise<void> {
  const { gateways, threads: threadServices, executions: executionServices, port } = options;
  const stopping = stopSignal();
  await using opened = new AsyncDisposableStack();
  const pools = await makePools(options);
  if (pools) opened.use(pools);
  const memories = opened.use(await weaviate.open());
  const prefix = newPrefix();
  opened.defer(() => dropCollections(memories.url, prefix));
  const cluster = opened.use(
    await openCluster({
      agent: null,
      record: options.store,
      gateways,
      threads: threadServices,
      executions: executionServices,
      ports: Array.from({ length: gateways }, (_, index) => port + index),
      env: {
        LOG_LEVEL: options.level,
        ...(options.config === undefined ? {} : { SERVICE_CONFIG: options.config }),
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
async function makePools({ config, workers, isPooled }: ClusterOptions): Promise<PlayedPools | undefined> {
  if (config === undefined) return makeOwnPools(workers);
  return isPooled ? makePoolOf(config, workers) : undefined;
}

/** @throws ConfigError for a port of a gateway that cannot be listened at, before any server is started. */
async function refuseTakenPorts({ port: first, gateways }: ClusterOptions): Promise<void> {
  for (let port = first; port < first + gateways; port++) {
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'EADDRINUSE' ? 'another process listens there' : String(code);
      throw new ConfigError(`127.0.0.1:${port} cannot be listened at: ${why}; --port gives another`, { cause: error });
    }
    server.close();
    await once(server, 'close');
  }
}

function readOptions(): ClusterOptions | 'help' {
  try {
    return readClusterOptions(process.argv.slice(2));
  } catch (error) {
    return refuseCommandLine((error as Error).message);
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options === 'help') {
    process.stdout.write(`${clusterUsage}\n`);
    return;
  }
  await refuseTakenPorts(options);
  const absence = clusterAbsence(options.store) ?? weaviate.absence();
  if (absence !== undefined) throw new ConfigError(absence);
  await play(options);
}

await main().catch((error: unknown) => {
  if (!(error instanceof ConfigError || isServiceError(error))) throw error;
  process.stderr.write(`${isServiceError(error) ? reasonOf(error) : error.message}\n`);
  process.exitCode = 1;
});
