import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { LRUCache } from 'lru-cache';
import type { ConsumerInfo } from 'nats';
import { lanesOfPool, nameOfPool, type Lane, type Pool } from '../client/pools.ts';
import { recreateConsumer, type Streams } from '../client/streams.ts';

interface DeliveryCheckOptions {
  readonly streams: Streams;
  readonly log: Log;
}

/** Finds lanes whose runs are delivered again and again and settled by nobody, and creates their consumers again. */
interface DeliveryCheck {
  /** A run was put into a lane in which it waits already. Returns at once. */
  readonly see: (pool: Pool, lane: number) => void;
}

/** What a consumer had done when it was checked. */
interface Seen {
  readonly created: string;
  readonly deliveries: number;
  /** Everything that was delivered up to this number is settled. */
  readonly settled: number;
  readonly openPulls: number;
  readonly redelivered: number;
}

interface Check {
  readonly at: number;
  /** Absent: there was no consumer, or it could not be read. */
  readonly seen?: Seen;
}

const lanesRemembered = 10_000;
/** Consumers that are checked at once. The run of one beyond them is put again by a later sweep. */
const atOnce = 8;
/** A consumer is created again at most once in so long: it may be a run that no worker can claim. */
const recreatedMs = 60_000;
/** After so long the log says it again of a pool. */
const silentMs = 10 * 60_000;

/**
 * A worker of a pool can send pull requests whose replies nobody takes: the server counts the subject as one that somebody waits for as long as the account
 * of the pool imports it. Those without an expiry are bounded by no setting of a consumer, and each of them takes a delivery from the workers. They go
 * with the consumer.
 */
export function createDeliveryCheck({ streams, log }: DeliveryCheckOptions): DeliveryCheck {
  const { manager, names, settings } = streams;
  /** What was delivered before one check is settled, or delivered again, before the next. */
  const apartMs = 2 * settings.settleMs;
  const checks = new LRUCache<string, Check>({ max: lanesRemembered });
  const mayRecreate = createFirstOfKind({ silentMs: recreatedMs, max: lanesRemembered });
  const mayLog = createFirstOfKind({ silentMs, max: 1000 });
  let underWay = 0;

  const check = async (pool: Pool, lane: Lane, before?: Seen): Promise<void> => {
    const seen = toSeen(await manager.consumers.info(lane.stream, lane.consumer));
    checks.set(lane.consumer, { at: performance.now(), seen });
    if (!before || !isTakenByNobody(before, seen) || !mayRecreate(lane.consumer)) return;
    if (mayLog(nameOfPool(pool)))
      log.warn(
        { ...pool, consumer: lane.consumer },
        'the runs of an agent are delivered again and again and settled by nobody: consumers are created again. Its workers cannot claim them, or its NATS user has sent pull requests that nobody waits for',
      );
    await recreateConsumer(manager, settings, lane);
  };

  return {
    see: (pool, number) => {
      const lane = lanesOfPool(names, pool)[number];
      if (!lane || underWay >= atOnce) return;
      const before = checks.get(lane.consumer);
      const at = performance.now();
      if (before && at - before.at < apartMs) return;
      // The next one is as far away, also where this one fails: a pool without workers has no consumer.
      checks.set(lane.consumer, { at });
      underWay++;
      void check(pool, lane, before?.seen)
        .catch((error: unknown) => {
          log.debug({ err: error, consumer: lane.consumer }, 'a consumer of the queue could not be checked');
        })
        .finally(() => {
          underWay--;
        });
    },
  };
}

const toSeen = ({ created, delivered, ack_floor, num_waiting, num_redelivered }: ConsumerInfo): Seen => ({
  created,
  deliveries: delivered.consumer_seq,
  settled: ack_floor.consumer_seq,
  openPulls: num_waiting,
  redelivered: num_redelivered,
});

/**
 * Whether the consumer had open pull requests at both times and delivered in between, but its oldest delivery is not settled and some are repeated.
 * Workers without a free slot have no open pull request, so runs that wait for them do not count.
 */
const isTakenByNobody = (before: Seen, seen: Seen): boolean =>
  seen.created === before.created &&
  before.openPulls > 0 &&
  seen.openPulls > 0 &&
  seen.redelivered > 0 &&
  seen.deliveries > before.deliveries &&
  seen.settled === before.settled;
