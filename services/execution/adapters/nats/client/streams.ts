import { eachOf } from '@agent-workflow/kit/each';
import { ConfigError } from '@agent-workflow/kit/env';
import {
  AckPolicy,
  DiscardPolicy,
  nanos,
  RetentionPolicy,
  StorageType,
  type ConsumerConfig,
  type ConsumerInfo,
  type JetStreamManager,
  type Msg,
  type StreamConfig,
  type StreamInfo,
} from 'nats';
import { maxLeaseMs } from '../../../ports/leases.ts';
import type { Lane } from './pools.ts';
import { apiErrorOf, isNoResponder, type NatsClient } from './client.ts';
import { namesOf, type StreamNames } from './names.ts';

export interface StreamSettings {
  /** The beginning of the name of each stream and subject: letters, digits, `-` and `_`; empty for none. */
  readonly prefix: string;
  readonly replicas: number;
  /** How long an event is kept at most, in milliseconds. */
  readonly eventsMaxAgeMs: number;
  /** Bound of all events together, in bytes; 0 is no bound. */
  readonly eventsMaxBytes: number;
  /** How long a delivered run may stay unsettled before it is delivered again, in milliseconds. */
  readonly settleMs: number;
}

/** The settings of a stream that differ from the defaults of the server. */
type Wanted = Partial<StreamConfig> & Pick<StreamConfig, 'name'>;

/** The server delivers nothing more of a lane while so many runs are unsettled. Its default of 1000 would cap all runs under way. */
const maxUnsettled = 65_536;

/** Waiting runs, `{pool}.{lane}.{owner's hash}.{run}.{epoch}`, and a word more where they have a priority. A subject holds one message, so that no run waits twice. */
const runsStream = ({ prefix, replicas }: StreamSettings): Wanted => {
  const { runs, runSubject } = namesOf(prefix);
  return {
    name: runs,
    subjects: [`${runSubject}.*.*.*.*.*`, `${runSubject}.*.*.*.*.*.*`],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
    // Runs that were stopped while no worker was there would stay for ever. The sweep enqueues again those that still wait.
    max_age: nanos(longestWaitMs),
    duplicate_window: nanos(minWindowMs),
    allow_direct: true,
  };
};

/** Each agent that workers hold has some at each revision. Unless it is given a number, the server takes 1,000, which a hundred agents exceed. */
const mostConsumers = 100_000;

/** Lets a stream have many consumers. An account with a limit of its own refuses that: then its limit counts. */
async function admitConsumers(manager: JetStreamManager, info: StreamInfo): Promise<StreamInfo> {
  if (info.config.max_consumers === mostConsumers) return info;
  try {
    const wanted: Wanted = { name: info.config.name, max_consumers: mostConsumers };
    return await manager.streams.update(wanted.name, wanted);
  } catch (error) {
    if (apiErrorOf(error) === undefined || isStreamAway(error)) throw error;
    return info;
  }
}

const longestWaitMs = 3_600_000;

/** No message id is used here: the server's table of them is kept as small as it allows. */
const minWindowMs = 100;

const eventsStream = ({ prefix, replicas, eventsMaxAgeMs, eventsMaxBytes }: StreamSettings): Wanted => {
  const { events, eventSubject, liveSubject } = namesOf(prefix);
  return {
    name: events,
    subjects: [`${eventSubject}.*.*`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: replicas,
    max_age: nanos(eventsMaxAgeMs),
    max_bytes: eventsMaxBytes === 0 ? -1 : eventsMaxBytes,
    discard: DiscardPolicy.Old,
    duplicate_window: nanos(minWindowMs),
    allow_direct: true,
    // The server republishes what it has stored: subscribers see nothing that could still be refused or lost.
    republish: { src: `${eventSubject}.>`, dest: `${liveSubject}.>` },
  };
};

/** The server removes a lane's consumer for which no worker has waited for so long. Its runs stay, and a worker that comes creates it again. */
const idleConsumerMs = 10 * 60_000;

/** A worker's pull requests last half of its own `LEASE_MS`, which may be another than that of the process that creates its consumers: half of the longest one. */
const longestPullMs = maxLeaseMs / 2;

const laneConsumer = ({ settleMs }: StreamSettings, { consumer, filter }: Lane): Partial<ConsumerConfig> => ({
  durable_name: consumer,
  filter_subject: filter,
  inactive_threshold: nanos(idleConsumerMs),
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(settleMs),
  // The record decides when a run has failed too often, not the queue.
  max_deliver: -1,
  max_ack_pending: maxUnsettled,
  // A pull request takes runs from the workers for as long as it is open, also when nobody waits for its replies any more.
  max_batch: 1,
  max_expires: nanos(longestPullMs),
});

const streamNotFound = 10_059;
const streamNameInUse = 10_058;
const consumerNotFound = 10_014;
const isApiError = (error: unknown, code: number): boolean => apiErrorOf(error)?.code === code;

/** The sequence of a message that the server returned, in its stream. */
export const sequenceOf = (message: Msg): number => Number(message.headers?.get('Nats-Sequence') ?? 0);

/** Whether a reply says that no more messages of a page follow. */
export const endsPage = (reply: Msg): boolean => sequenceOf(reply) === 0;

/** Whether the stream behind a request does not exist. */
export const isStreamAway = (error: unknown): boolean => isNoResponder(error) || isApiError(error, streamNotFound);

/** The present state of a stream; `undefined` when it does not exist. */
export async function readStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (isApiError(error, streamNotFound)) return undefined;
    throw error;
  }
}

/**
 * Creates the stream, or brings it to its settings, and reads it back.
 * @throws ConfigError when a setting cannot be changed to the one asked for.
 */
async function ensureStream(manager: JetStreamManager, wanted: Wanted): Promise<StreamInfo> {
  const found = (await readStream(manager, wanted.name)) ?? (await addStream(manager, wanted));
  if (differences(wanted, found.config).length > 0) await manager.streams.update(wanted.name, wanted);
  const info = await manager.streams.info(wanted.name);
  const [different] = differences(wanted, info.config);
  if (different !== undefined)
    throw new ConfigError(
      `the stream ${wanted.name} has another ${different} than the settings say: delete it, so that it is created again, or change it by hand`,
    );
  return info;
}

/** Another replica may create the stream first, and have changed it since: then that one is read. */
async function addStream(manager: JetStreamManager, wanted: Wanted): Promise<StreamInfo> {
  try {
    return await manager.streams.add(wanted);
  } catch (error) {
    if (!isApiError(error, streamNameInUse)) throw error;
    return manager.streams.info(wanted.name);
  }
}

const differences = (wanted: Wanted, found: StreamConfig): string[] =>
  Object.entries(wanted)
    .filter(([key, value]) => !holds(value, found[key as keyof StreamConfig]))
    .map(([key]) => key);

/** Whether the server's value is the one asked for. Objects may hold more than was asked for. */
const holds = (wanted: unknown, found: unknown): boolean =>
  typeof wanted === 'object' && wanted !== null && typeof found === 'object' && found !== null
    ? Object.entries(wanted).every(([key, value]) => holds(value, (found as Record<string, unknown>)[key]))
    : wanted === found || ((wanted === '' || wanted === false || wanted === 0) && found === undefined);

async function ensureConsumer(manager: JetStreamManager, settings: StreamSettings, lane: Lane): Promise<void> {
  const { stream, consumer } = lane;
  const wanted = laneConsumer(settings, lane);
  try {
    const { config } = await manager.consumers.info(stream, consumer);
    if (!holds(wanted, config)) await manager.consumers.update(stream, consumer, wanted);
  } catch (error) {
    if (!isApiError(error, consumerNotFound)) throw error;
    await manager.consumers.add(stream, wanted);
  }
}

/**
 * Brings a lane's consumer to its settings, except for the time in which a run is to be settled: the worker sets that one, and its `LEASE_MS` may
 * differ from the one here. A consumer that is gone by now is not created.
 */
async function renewConsumer(manager: JetStreamManager, settings: StreamSettings, known: ConsumerInfo): Promise<void> {
  const { stream_name: stream, name: consumer } = known;
  const { filter_subject: filter = '' } = known.config;
  const { ack_wait: _, ...wanted } = laneConsumer(settings, { stream, consumer, filter });
  if (holds(wanted, known.config)) return;
  try {
    const { config } = await manager.consumers.info(stream, consumer);
    if (!holds(wanted, config)) await manager.consumers.update(stream, consumer, wanted);
  } catch (error) {
    if (!isApiError(error, consumerNotFound)) throw error;
  }
}

/** Creates a lane's consumer again. Runs that it had delivered and that are not settled are delivered again. */
export async function recreateConsumer(manager: JetStreamManager, settings: StreamSettings, lane: Lane): Promise<void> {
  try {
    await manager.consumers.delete(lane.stream, lane.consumer);
  } catch (error) {
    if (!isApiError(error, consumerNotFound)) throw error;
  }
  await ensureConsumer(manager, settings, lane);
}

/** The streams of one deployment, which are created again when they are missing. */
export interface Streams {
  readonly client: NatsClient;
  readonly settings: StreamSettings;
  readonly names: StreamNames;
  readonly manager: JetStreamManager;
  readonly ensureEvents: () => Promise<StreamInfo>;
  readonly ensureRuns: () => Promise<StreamInfo>;
  /** Creates the consumers of these lanes, or brings them to their settings. Their stream must exist. */
  readonly ensureLanes: (lanes: readonly Lane[]) => Promise<void>;
  /** Brings the consumer of a lane to its settings, if it is still there. */
  readonly renewConsumer: (known: ConsumerInfo) => Promise<void>;
}

const consumersAtOnce = 32;

/** Only wires: the first call of `ensureEvents` and `ensureRuns` creates the streams. */
export async function createStreams(client: NatsClient, settings: StreamSettings): Promise<Streams> {
  const manager = await client.connection.jetstreamManager({ checkAPI: false });
  return {
    client,
    settings,
    manager,
    names: namesOf(settings.prefix),
    ensureEvents: shared(async () => ensureStream(manager, eventsStream(settings))),
    ensureRuns: shared(async () => admitConsumers(manager, await ensureStream(manager, runsStream(settings)))),
    ensureLanes: async (lanes) =>
      eachOf(lanes, consumersAtOnce, async (lane) => ensureConsumer(manager, settings, lane)),
    renewConsumer: async (known) => renewConsumer(manager, settings, known),
  };
}

/** A call while the work is under way gets the promise of that work. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return async () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
