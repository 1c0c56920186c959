import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { RunControl, RunLog, RunQueue, WorkerLeases } from '../../ports/port.ts';
import { isNotReady, openNatsClient, pause, type NatsClient, type NatsClientOptions } from './client.ts';
import { openNatsControl } from './control.ts';
import { checkDurability, checkVersion, readSyncInterval } from './durability.ts';
import { openNatsWorkerLeases } from './leases.ts';
import { openNatsRunLog } from './log/log.ts';
import { watchOlderReplicas } from './older.ts';
import { openNatsRunQueue } from './queue/queue.ts';
import { createStreams, type Streams, type StreamSettings } from './streams.ts';

export interface NatsOptions extends NatsClientOptions, StreamSettings {
  /** How long the events of an ended run are served, in milliseconds. */
  readonly retentionMs: number;
  /** How long a worker is thought alive after it was last heard of, in milliseconds. */
  readonly leaseMs: number;
  /** Monitoring ports of all servers. */
  readonly monitorUrls: readonly string[];
  /** Whether to refuse servers that cannot promise to keep what they confirmed. */
  readonly strict: boolean;
}

/** Everything that the execution service keeps on NATS, over one connection. */
export interface Nats extends AsyncDisposable {
  readonly queue: RunQueue;
  readonly log: RunLog;
  readonly leases: WorkerLeases;
  readonly control: RunControl;
  readonly isConnected: () => boolean;
}

/** How often waiting for runs is looked after, in milliseconds. */
const watchMs = 10_000;

/**
 * Connects, makes the streams where they are missing or differ from the settings, reads them back, and says in one line how
 * durable they are. The connection is closed when the last of it is disposed of: dispose of the whole.
 * @throws ConfigError when the servers are too old or cannot promise what is asked; the signal's reason when it fires first.
 */
export async function openNats(options: NatsOptions, signal?: AbortSignal): Promise<Nats> {
  await using opened = new AsyncDisposableStack();
  const { logger } = options;
  const client = opened.use(await openNatsClient(options, signal));
  const version = client.connection.info?.version ?? '';
  checkVersion(version);
  const streams = await createStreams(client, options);
  const infos = [
    await untilReady(streams.ensureRuns, logger, signal),
    await untilReady(streams.ensureEvents, logger, signal),
  ];
  const replicas = Math.min(...infos.map(({ config }) => config.num_replicas));
  const syncIntervalMs = await readSyncInterval(options.monitorUrls);
  checkDurability(logger, { version, replicas, syncIntervalMs }, options.strict);
  // A server that goes away meanwhile is waited for, too.
  const ports = opened.use(await untilReady(async () => openPorts(client, streams, options), logger, signal));
  const rest = opened.move();
  return { ...ports, isConnected: client.isConnected, [Symbol.asyncDispose]: async () => rest.disposeAsync() };
}

type Ports = Omit<Nats, 'isConnected'>;

/** @throws Unavailable when the server is away; then nothing is left open. */
async function openPorts(client: NatsClient, streams: Streams, options: NatsOptions): Promise<Ports> {
  await using opened = new AsyncDisposableStack();
  const { logger, prefix, retentionMs, leaseMs } = options;
  const older = opened.use(await watchOlderReplicas({ client, prefix, logger }));
  const log = opened.use(await openNatsRunLog({ streams, retentionMs, logger, older }));
  const queue = opened.use(await openNatsRunQueue({ streams, logger, watchMs }));
  const leases = opened.use(await openNatsWorkerLeases({ client, prefix, leaseMs }));
  const control = opened.use(openNatsControl({ client, prefix }));
  const rest = opened.move();
  return { queue, log, leases, control, [Symbol.asyncDispose]: async () => rest.disposeAsync() };
}

const retryMs = 250;

/** Goes on trying while the servers are still finding one another, as after a start of all of them. */
async function untilReady<T>(work: () => Promise<T>, logger: Log, signal?: AbortSignal): Promise<T> {
  for (let told = false; ; told = true) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!isNotReady(error) && !isServiceError(error, 'Unavailable')) throw error;
      if (!told) logger.warn({ err: error }, 'JetStream is not ready yet; trying on');
      await pause(retryMs, signal);
    }
  }
}
