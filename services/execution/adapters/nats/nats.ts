import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { retry } from '@agent-workflow/kit/retry';
import type { CodeCalls } from '../../ports/code-calls.ts';
import type { RunControl } from '../../ports/control.ts';
import type { WorkerLeases } from '../../ports/leases.ts';
import type { RunLog } from '../../ports/log.ts';
import type { RunQueue } from '../../ports/queue.ts';
import { isNotReady, openNatsClient, steadily, type NatsClient, type NatsClientOptions } from './client/client.ts';
import { openNatsCodeCalls } from './code-calls/code-calls.ts';
import { openNatsControl } from './control.ts';
import { checkDurability, checkVersion, readSyncInterval } from './durability.ts';
import { openNatsWorkerLeases } from './leases.ts';
import { openNatsRunLog } from './log/log.ts';
import { watchOlderReplicas } from './client/older-replicas.ts';
import { openNatsRunQueue } from './queue/queue.ts';
import { createStreams, type Streams, type StreamSettings } from './client/streams.ts';

export interface NatsOptions extends NatsClientOptions, StreamSettings {
  /** How long the events of an ended run are served, in milliseconds. */
  readonly retentionMs: number;
  /** How long a worker counts as alive after its last heartbeat, in milliseconds. */
  readonly leaseMs: number;
  /** Monitoring ports of all servers. */
  readonly monitorUrls: readonly string[];
  /** Whether to refuse servers that may lose confirmed writes. */
  readonly strict: boolean;
}

/** Everything that the execution service keeps on NATS, over one connection. */
interface Nats extends AsyncDisposable {
  readonly queue: RunQueue;
  readonly eventLog: RunLog;
  readonly leases: WorkerLeases;
  readonly control: RunControl;
  readonly codeCalls: CodeCalls;
  readonly isConnected: () => boolean;
}

/** How often the queue checks its consumers while a worker waits for runs, in milliseconds. */
const watchMs = 10_000;

/**
 * Connects, creates the streams or brings them to the settings, reads them back, and logs in one line how durable they are.
 * Disposing of the result closes everything with the connection.
 * @throws ConfigError when the servers are too old or less durable than asked; the signal's reason when it fires first.
 */
export async function openNats(options: NatsOptions, signal?: AbortSignal): Promise<Nats> {
  await using opened = new AsyncDisposableStack();
  const { log } = options;
  const client = opened.use(await openNatsClient(options, signal));
  const version = client.connection.info?.version ?? '';
  checkVersion(version);
  const streams = await createStreams(client, options);
  const infos = [
    await untilReady(streams.ensureRuns, log, signal),
    await untilReady(streams.ensureEvents, log, signal),
  ];
  const replicas = Math.min(...infos.map(({ config }) => config.num_replicas));
  const syncIntervalMs = await readSyncInterval(options.monitorUrls);
  checkDurability(log, { version, replicas, syncIntervalMs }, options.strict);
  // Also waits for a server that becomes unreachable meanwhile.
  const ports = opened.use(await untilReady(async () => openPorts(client, streams, options), log, signal));
  const rest = opened.move();
  return { ...ports, isConnected: client.isConnected, [Symbol.asyncDispose]: async () => rest.disposeAsync() };
}

type Ports = Omit<Nats, 'isConnected'>;

/** @throws Unavailable when the server cannot be reached; then nothing is left open. */
async function openPorts(client: NatsClient, streams: Streams, options: NatsOptions): Promise<Ports> {
  await using opened = new AsyncDisposableStack();
  const { log, prefix, retentionMs, leaseMs } = options;
  const older = opened.use(await watchOlderReplicas({ client, prefix, log }));
  const eventLog = opened.use(await openNatsRunLog({ streams, retentionMs, log, older }));
  const queue = opened.use(await openNatsRunQueue({ streams, log, watchMs }));
  const leases = opened.use(await openNatsWorkerLeases({ client, prefix, leaseMs }));
  const control = opened.use(openNatsControl({ client, prefix }));
  const codeCalls = opened.use(openNatsCodeCalls({ client, prefix }));
  const rest = opened.move();
  return { queue, eventLog, leases, control, codeCalls, [Symbol.asyncDispose]: async () => rest.disposeAsync() };
}

const retryMs = 250;

/** Repeats `work` while the servers are still finding one another, as after a start of all of them. */
async function untilReady<T>(work: () => Promise<T>, log: Log, signal?: AbortSignal): Promise<T> {
  let isLogged = false;
  return retry(work, {
    ...steadily(retryMs),
    signal,
    mayHelp: (error) => isNotReady(error) || isServiceError(error, 'Unavailable'),
    onRetry: (error) => {
      if (!isLogged) log.warn({ err: error }, 'JetStream is not ready yet; it is tried again');
      isLogged = true;
    },
  });
}
