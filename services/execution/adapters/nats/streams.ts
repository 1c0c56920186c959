import { ConfigError } from '@agent-workflow/kit/env';
import {
  AckPolicy,
  DiscardPolicy,
  nanos,
  RetentionPolicy,
  StorageType,
  type ConsumerConfig,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from 'nats';
import { apiErrorOf, isNoResponder, type NatsClient } from './client.ts';

export interface StreamSettings {
  /** Stands before the name of each stream and subject: letters, digits, `-` and `_`; empty for none. */
  readonly prefix: string;
  readonly replicas: number;
  /** How long an event is kept at most, in milliseconds. */
  readonly eventsMaxAgeMs: number;
  /** What all events may weigh together, in bytes; 0 is no bound. */
  readonly eventsMaxBytes: number;
  /** How long a run that was handed out may take to be settled before it is handed out again, in milliseconds. */
  readonly settleMs: number;
}

/** How the streams and their subjects are called. */
export interface StreamNames {
  readonly runs: string;
  readonly events: string;
  /** Before the lane of a run, and the run behind it. */
  readonly runSubject: string;
  readonly eventSubject: string;
  /** Where the server tells an event again once it is stored. */
  readonly toldSubject: string;
  readonly consumer: (lane: number | string) => string;
}

/** What stands before every subject, a dot included, where there is a prefix. */
export const subjectPrefix = (prefix: string): string => (prefix === '' ? '' : `${prefix}.`);

export function namesOf(prefix: string): StreamNames {
  const stream = prefix === '' ? '' : `${prefix}_`;
  const subject = subjectPrefix(prefix);
  return {
    runs: `${stream}RUNS`,
    events: `${stream}EVENTS`,
    runSubject: `${subject}runs`,
    eventSubject: `${subject}events`,
    toldSubject: `${subject}told`,
    consumer: (lane) => `lane-${lane}`,
  };
}

/** Lanes that runs are divided into by their owners, and those behind them for what one owner puts in heaps. */
export const ownLanes = 16;
export const heapLanes = 4;
export const allLanes = ownLanes + heapLanes;

/** FNV-1a: spreads names over lanes and shards, the same in every process. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Of the server only: the settings of a stream that differ from its defaults. */
type Wanted = Partial<StreamConfig> & Pick<StreamConfig, 'name'>;

/** The server refuses runs in a lane while so many were handed out and not settled; its own default would cap all of them. */
const maxUnsettled = 65_536;

/** Waiting runs, `{lane}.{owner's hash}.{run}.{epoch}`: a subject holds one message, so that none waits twice. */
export const runsStream = ({ prefix, replicas }: StreamSettings): Wanted => {
  const { runs, runSubject } = namesOf(prefix);
  return {
    name: runs,
    subjects: [`${runSubject}.*.*.*.*`],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
    duplicate_window: nanos(minWindowMs),
    allow_direct: true,
  };
};

/** Nothing here is told apart by message ids: the server's table of them is kept as small as it lets us. */
const minWindowMs = 100;

export const eventsStream = ({ prefix, replicas, eventsMaxAgeMs, eventsMaxBytes }: StreamSettings): Wanted => {
  const { events, eventSubject, toldSubject } = namesOf(prefix);
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
    // Told again by the server once stored: whoever listens is shown nothing that could still be refused or lost.
    republish: { src: `${eventSubject}.>`, dest: `${toldSubject}.>` },
  };
};

const laneConsumer = ({ prefix, settleMs }: StreamSettings, lane: number): Partial<ConsumerConfig> => ({
  durable_name: namesOf(prefix).consumer(lane),
  filter_subject: `${namesOf(prefix).runSubject}.${lane}.>`,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(settleMs),
  // Giving up is decided by the run record.
  max_deliver: -1,
  max_ack_pending: maxUnsettled,
});

const streamNotFound = 10_059;
const consumerNotFound = 10_014;
const isApiError = (error: unknown, code: number): boolean => apiErrorOf(error)?.code === code;

/** Whether an error says that the stream behind a request is not there. */
export const isStreamAway = (error: unknown): boolean => isNoResponder(error) || isApiError(error, streamNotFound);

/** What the server says of a stream; `undefined` when there is none. */
export async function readStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (isApiError(error, streamNotFound)) return undefined;
    throw error;
  }
}

/**
 * Makes the stream, or brings it to its settings, and reads it back.
 * @throws ConfigError when the server keeps it otherwise than asked.
 */
export async function ensureStream(manager: JetStreamManager, wanted: Wanted): Promise<StreamInfo> {
  const found = await readStream(manager, wanted.name);
  if (!found) await manager.streams.add(wanted);
  else if (differences(wanted, found.config).length > 0) await manager.streams.update(wanted.name, wanted);
  const info = await manager.streams.info(wanted.name);
  const [different] = differences(wanted, info.config);
  if (different !== undefined)
    throw new ConfigError(
      `the stream ${wanted.name} has another ${different} than the settings say: make it anew or mend it by hand`,
    );
  return info;
}

const differences = (wanted: Wanted, found: StreamConfig): string[] =>
  Object.entries(wanted)
    .filter(([key, value]) => !holds(value, found[key as keyof StreamConfig]))
    .map(([key]) => key);

/** Whether the server's value is the one asked for; objects may hold more than was asked. */
const holds = (wanted: unknown, found: unknown): boolean =>
  typeof wanted === 'object' && wanted !== null && typeof found === 'object' && found !== null
    ? Object.entries(wanted).every(([key, value]) => holds(value, (found as Record<string, unknown>)[key]))
    : wanted === found || ((wanted === '' || wanted === false || wanted === 0) && found === undefined);

/** Makes the consumer of each lane, where it is not there as it should be. */
export async function ensureConsumers(manager: JetStreamManager, settings: StreamSettings): Promise<void> {
  const lanes = Array.from({ length: allLanes }, (_, lane) => lane);
  await Promise.all(lanes.map(async (lane) => ensureConsumer(manager, settings, lane)));
}

export async function ensureConsumer(manager: JetStreamManager, settings: StreamSettings, lane: number): Promise<void> {
  const { runs, consumer } = namesOf(settings.prefix);
  const wanted = laneConsumer(settings, lane);
  try {
    const { config } = await manager.consumers.info(runs, consumer(lane));
    if (!holds(wanted, config)) await manager.consumers.update(runs, consumer(lane), wanted);
  } catch (error) {
    if (!isApiError(error, consumerNotFound)) throw error;
    await manager.consumers.add(runs, wanted);
  }
}

/** Makes a lane's consumer anew: what it had handed out and was not settled is handed out again. */
export async function remakeConsumer(manager: JetStreamManager, settings: StreamSettings, lane: number): Promise<void> {
  const { runs, consumer } = namesOf(settings.prefix);
  try {
    await manager.consumers.delete(runs, consumer(lane));
  } catch (error) {
    if (!isApiError(error, consumerNotFound)) throw error;
  }
  await ensureConsumer(manager, settings, lane);
}

/** The streams of one deployment, made again when they are found missing. */
export interface Streams {
  readonly client: NatsClient;
  readonly settings: StreamSettings;
  readonly names: StreamNames;
  readonly manager: JetStreamManager;
  readonly ensureEvents: () => Promise<StreamInfo>;
  readonly ensureRuns: () => Promise<StreamInfo>;
}

/** Only wires: the streams are made by the first call of each. */
export async function createStreams(client: NatsClient, settings: StreamSettings): Promise<Streams> {
  const manager = await client.connection.jetstreamManager({ checkAPI: false });
  return {
    client,
    settings,
    manager,
    names: namesOf(settings.prefix),
    ensureEvents: shared(async () => ensureStream(manager, eventsStream(settings))),
    ensureRuns: shared(async () => {
      const info = await ensureStream(manager, runsStream(settings));
      await ensureConsumers(manager, settings);
      return info;
    }),
  };
}

/** Whoever calls while the work is under way gets the same work. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return async () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
