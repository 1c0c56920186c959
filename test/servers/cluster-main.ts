import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { stopSignal } from '@agent-workflow/kit/life';
import { clusterAbsence } from './cluster-ground.ts';
import { toEndLine, toLogLine } from './cluster-log.ts';
import { openCluster } from './cluster.ts';
import { dropCollections, newPrefix } from './weaviate-collections.ts';
import { weaviate } from './weaviate.ts';

/** Starts a cluster to play with: every process on this machine, on the real servers, until Ctrl-C. What it keeps goes with it. */
const { values } = parseArgs({
  options: {
    gateways: { type: 'string', default: '2' },
    threads: { type: 'string', default: '2' },
    executions: { type: 'string', default: '3' },
    port: { type: 'string', default: '8000' },
    config: { type: 'string', default: fileURLToPath(new URL('../../service.json', import.meta.url)) },
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
      SERVICE_CONFIG: values.config,
      WEAVIATE_URL: memories.url,
      WEAVIATE_PREFIX: prefix,
    },
    onLine: print,
    onEnd: (end) => print('cluster', toEndLine(end)),
  });
  for (const { name, address, pid } of cluster.replicas) print('cluster', `${name} is process ${pid()}, at ${address}`);
  print('cluster', `serves at ${cluster.urls.join(' and ')}; Ctrl-C ends it`);
  if (!stopping.aborted) await once(stopping, 'abort');
  print('cluster', `${(stopping.reason as Error).message}: draining`);
  // Callers first, so that nobody calls what is gone.
  for (const kind of [cluster.gateways, cluster.executions, [...cluster.threads, ...cluster.memories]])
    await Promise.all(kind.map((replica) => replica.stop()));
}

const absence = clusterAbsence() ?? weaviate.absence();
if (absence === undefined) await play();
else {
  process.stderr.write(`${absence}\n`);
  process.exitCode = 1;
}
