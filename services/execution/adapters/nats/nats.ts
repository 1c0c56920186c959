import { ConfigError } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { retry } from '@agent-workflow/kit/retry';
import type { CodeCalls } from '../../ports/code-calls.ts';
import { unwatchedPart } from '@agent-workflow/runtime/health';
import type { RunControl } from '../../ports/control.ts';
import type { WorkerLeases } from '../../ports/leases.ts';
import type { RunLog } from '../../ports/log.ts';
import type { HeldAgents, RunQueue } from '../../ports/queue.ts';
import {
  fromNatsError,
  isForbidden,
  isNotReady,
  openNatsClient,
  steadily,
  type NatsClient,
  type NatsClientOptions,
} from './client/client.ts';
import { openNatsCodeCalls } from './code-calls/code-calls.ts';
import { openNatsControl } from './control.ts';
import { checkDurability, checkVersion, readSyncInterval } from './durability.ts';
import { openNatsWorkerLeases, workerIdOf } from './leases.ts';
import { openNatsRunLog } from './log/log.ts';
import { answerPools, type PoolAnswers } from './pools/answering.ts';
import { createAsking } from './pools/asking.ts';
import { tokenOfAgents } from './pools/permissions.ts';
import { openNatsRunQueue } from './queue/queue.ts';
import { renewConsumers } from './queue/renewed-consumers.ts';
import { poolsHeld } from './queue/takers.ts';
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
  /** For a worker of a pool: what its pool holds. Absent: this process manages the streams, and its user may do everything. */
  readonly pool?: HeldAgents | undefined;
  /** Present where this process does for workers of pools what they may not do. */
  readonly answersPools?: PoolAnswers | undefined;
}

/** Everything that the execution service keeps on NATS, over one connection. */
interface Nats extends AsyncDisposable {
  readonly queue: RunQueue;
  readonly eventLog: RunLog;
  readonly leases: WorkerLeases;
  readonly control: RunControl;
  readonly codeCalls: CodeCalls;
  /** The id of the worker of this process. */
  readonly workerId: string;
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
  const client = opened.use(await openNatsClient(options, signal));
  const version = client.connection.info?.version ?? '';
  checkVersion(version);
  const streams = await createStreams(client, options);
  if (!options.pool) await ensureStreams(streams, version, options, signal).catch(refuseForbidden);
  // Also waits for a server that becomes unreachable meanwhile.
  const open = options.pool ? openPortsOfPool(options.pool) : openPorts;
  const ports = opened.use(await untilReady(async () => open(client, streams, options), options, signal));
  const rest = opened.move();
  return { ...ports, isConnected: client.isConnected, [Symbol.asyncDispose]: async () => rest.disposeAsync() };
}

/** @throws ConfigError for a user that may not manage streams; any other error as it is. */
function refuseForbidden(error: unknown): never {
  if (!isForbidden(error)) throw error;
  throw new ConfigError(
    'NATS_URL: its user may not manage streams: a worker with the user of a pool needs NATS_ACCESS=pool, any other process the user of the service',
  );
}

async function ensureStreams(
  streams: Streams,
  version: string,
  options: NatsOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  const infos = [
    await untilReady(streams.ensureRuns, options, signal),
    await untilReady(streams.ensureEvents, options, signal),
  ];
  const replicas = Math.min(...infos.map(({ config }) => config.num_replicas));
  const syncIntervalMs = await readSyncInterval(options.monitorUrls);
  checkDurability(options.log, { version, replicas, syncIntervalMs }, options.strict);
}

type Ports = Omit<Nats, 'isConnected'>;

/** @throws Unavailable when the server cannot be reached; then nothing is left open. */
async function openPorts(client: NatsClient, streams: Streams, options: NatsOptions): Promise<Ports> {
  await using opened = new AsyncDisposableStack();
  const { log, prefix, retentionMs, leaseMs } = options;
  const eventLog = opened.use(await openNatsRunLog({ streams, retentionMs, log }));
  const queue = opened.use(await openNatsRunQueue({ streams, log, watchMs }));
  const leases = opened.use(
    await openNatsWorkerLeases({ client, prefix, leaseMs, counts: options.answersPools !== undefined }),
  );
  const control = opened.use(openNatsControl({ client, prefix }));
  const codeCalls = opened.use(openNatsCodeCalls({ client, prefix }));
  if (options.answersPools) {
    opened.use(renewConsumers({ streams, log }));
    opened.use(answerPools({ streams, queue, log, ...options.answersPools }));
  }
  const rest = opened.move();
  return {
    ...{ queue, eventLog, leases, control, codeCalls, workerId: newId() },
    [Symbol.asyncDispose]: async () => rest.disposeAsync(),
  };
}

/**
 * The same for a worker of a pool, whose user may do only what the pool needs: replicas of the role `api` do the rest for it.
 * @throws Unavailable when none of them answers; then nothing is left open.
 */
const openPortsOfPool =
  ({ agents, revision }: HeldAgents) =>
  async (client: NatsClient, streams: Streams, options: NatsOptions): Promise<Ports> => {
    await using opened = new AsyncDisposableStack();
    const { log, prefix, retentionMs, leaseMs } = options;
    const asking = createAsking(client, streams.names);
    const pools = poolsHeld(revision === undefined ? { agents } : { agents, revision });
    await asking.ensureLanes(pools);
    const token = tokenOfAgents(agents);
    const ofPool = { agents, reader: asking.reader };
    const eventLog = opened.use(await openNatsRunLog({ streams, retentionMs, log, ofPool }));
    const queue = opened.use(await openNatsRunQueue({ streams, log, watchMs, ofPool: asking }));
    const leases = opened.use(await openNatsWorkerLeases({ client, prefix, leaseMs, token }));
    const control = opened.use(openNatsControl({ client, prefix, agents }));
    const codeCalls = opened.use(openNatsCodeCalls({ client, prefix }));
    const rest = opened.move();
    return {
      ...{ queue, eventLog, leases, control, codeCalls, workerId: workerIdOf(token, newId()) },
      [Symbol.asyncDispose]: async () => rest.disposeAsync(),
    };
  };

const retryMs = 250;

/** Repeats `work` while the servers are still finding one another, as after a start of all of them. */
async function untilReady<T>(
  work: () => Promise<T>,
  { pool, answersPools, health = unwatchedPart }: Pick<NatsOptions, 'pool' | 'answersPools' | 'health'>,
  signal?: AbortSignal,
): Promise<T> {
  const waitsFor = pool ? waitsForApi : answersPools ? waitsInApi : waitsInWorker;
  const result = await retry(work, {
    ...steadily(retryMs),
    signal,
    mayHelp: (error) => isNotReady(error) || isServiceError(error, 'Unavailable'),
    onRetry: (error) =>
      health.fails(isServiceError(error, 'Unavailable') ? error.message : waitsFor, fromNatsError(error)),
  });
  health.works();
  return result;
}

const waitsForStreams = 'JetStream is not ready yet';
// The user of a pool may not manage streams, and where its account has no streams nothing answers it.
const waitsInApi = `${waitsForStreams}, or the user of NATS_URL is that of a pool and not that of the service`;
const waitsInWorker = `${waitsForStreams}; a worker with the user of a pool needs NATS_ACCESS=pool`;

/** What a worker of a pool reports while it waits for its streams and consumers. */
const waitsForApi = 'no process of the role api has created its consumers yet';
