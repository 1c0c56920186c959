import { isServiceError } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { every, settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { pause } from '@agent-workflow/kit/retry';
import type { Msg } from 'nats';
import type { HeldAgents, RunnableRun, RunQueue, TakenRun } from '../../../ports/queue.ts';
import { hashOfPool, lanesOfPool, nameOfPool, poolOf, type Lane, type Pool } from '../client/pools.ts';
import { isStreamAway, type Streams } from '../client/streams.ts';
import { createBacklog, uncounted } from './backlog.ts';
import { createConsumerCheck } from './consumer-check.ts';
import { createDeliveryCheck } from './delivery-check.ts';
import { createPulls, nextSubject, type Delivery } from './pulls.ts';
import { createPut } from './put.ts';
import { readRun } from './run-message.ts';
import { createTakers, poolsHeld } from './takers.ts';
import { createUrgent, type UrgentRun } from './urgent.ts';

interface NatsQueueOptions {
  readonly streams: Streams;
  readonly log: Log;
  /** How often consumers are checked while a worker waits for runs, in milliseconds. */
  readonly watchMs: number;
  /** For a worker of a pool, which manages nothing on the server: who does it. Absent: this replica. */
  readonly ofPool?: QueueHelp | undefined;
}

/** What others do for a queue that only takes runs. */
interface QueueHelp {
  readonly ensureLanes: (pools: readonly Pool[]) => Promise<void>;
  readonly put: RunQueue['enqueue'];
}

const ack = '+ACK';
const nak = '-NAK';
const nakForLater = '-NAK {"delay":1000000000}';
const term = '+TERM';
const retryMs = 100;
/** How long a worker of a pool waits before it asks again for consumers that nobody could create, in milliseconds. */
const lanesRetryMs = 1000;
/** Lanes that are known to hold runs. Of those beyond, a worker learns by its pull requests. */
const maxFilled = 10_000;
const pullsPerLease = 2;
/** How long the server may take to close the pull requests of a replica that leaves, in milliseconds. */
const leaveMs = 1000;
/** So often in turn nobody answers before the log says so: a consumer that was deleted is there again before. */
const manyTimes = 5;
/** After so long the log says again that consumers cannot be created. */
const silentMs = 10 * 60_000;

/** Opens the queue on a stream, and creates stream and consumers where they are missing, or has them created. */
export async function openNatsRunQueue(options: NatsQueueOptions): Promise<RunQueue> {
  const { streams, log, watchMs, ofPool } = options;
  const { client, names, settings } = streams;
  const closing = new AbortController();
  const takers = createTakers((held) => {
    serve(held);
    pullAll();
  });
  /** The lanes that runs are taken from here, by their consumers. */
  const lanes = new Map<string, Lane>();
  /** The consumers of lanes with waiting runs, in the order of their turns. */
  const filled = new Set<string>();
  /** Lanes that have delivered a run of which it is not decided yet whether it goes, and those to which one is on its way back. */
  const deciding = new Set<string>();
  const returning = new Set<string>();
  const isAsked = (lane: Lane): boolean =>
    pulls.isOpen(lane) || deciding.has(lane.consumer) || returning.has(lane.consumer);
  const backlog = ofPool ? uncounted : createBacklog(streams);
  // A worker of a pool may not read what waits: its runs come in the order of arrival.
  const urgent = ofPool ? undefined : createUrgent({ streams, log });
  let hasLeft = false;

  /** Requests runs from as many filled lanes as there are takers, in turn, and the next run from every other lane. */
  const pullAll = (): void => {
    if (takers.count() === 0 || hasLeft || closing.signal.aborted || !client.isConnected()) return;
    const turns = [...filled].flatMap((consumer) => lanes.get(consumer) ?? []);
    let wanted = takers.count() - deciding.size - turns.filter(pulls.isOpen).length;
    for (const lane of turns) {
      if (wanted <= 0) break;
      if (isAsked(lane)) continue;
      pulls.pullNow(lane);
      wanted--;
    }
    for (const lane of lanes.values()) if (!filled.has(lane.consumer) && !isAsked(lane)) pulls.pullNext(lane);
  };

  /** What is held here, whose consumers exist or are being created. */
  const served = new Map<string, Pool>();
  const ensureLanes = async (pools: readonly Pool[]): Promise<void> => {
    if (ofPool) await ofPool.ensureLanes(pools);
    else await streams.ensureLanes(pools.flatMap((pool) => lanesOfPool(names, pool)));
  };
  const isFirst = createFirstOfKind({ silentMs, max: 1000 });
  /** Their first pull requests try it again. What does not pass with a server that is unavailable is the operator's to mend. */
  const noteUncreated = (error: unknown): void => {
    const mayPass = isStreamAway(error) || isServiceError(error, 'Unavailable') || !client.isConnected();
    if (mayPass) log.debug({ err: error }, 'consumers of the queue could not be created yet');
    else if (isFirst('consumers'))
      log.warn({ err: error }, 'consumers of the queue could not be created: runs of some agents wait until they are');
  };
  /** How often in turn nobody has answered the pull requests to a lane. */
  const unanswered = new Map<string, number>();
  const noteUnanswered = (consumer: string): void => {
    const times = (unanswered.get(consumer) ?? 0) + 1;
    unanswered.set(consumer, times);
    const pool = [...served.values()].find((each) => consumer.startsWith(`${hashOfPool(each)}-`));
    if (times < manyTimes || !pool || !isFirst(`unanswered ${nameOfPool(pool)}`)) return;
    const subject = nextSubject(names.runs, consumer);
    log.warn(
      { ...pool, subject },
      'nobody answers where the runs of an agent are taken: its consumers are deleted again and again, or the NATS account of this worker does not import the subject (agent-workflow nats-permissions prints it)',
    );
  };
  /** Takes runs also from the pools of what a taker holds, once their consumers exist. */
  const serve = (held: HeldAgents): void => {
    const added = poolsHeld(held).filter((pool) => !served.has(nameOfPool(pool)));
    if (added.length === 0) return;
    for (const pool of added) served.set(nameOfPool(pool), pool);
    const own = added.flatMap((pool) => lanesOfPool(names, pool));
    void ensureLanes(added)
      .catch(noteUncreated)
      .then(() => {
        for (const lane of own) lanes.set(lane.consumer, lane);
        pullAll();
      });
  };

  const toTaken = (run: RunnableRun, remove: () => void): TakenRun => {
    let isOpen = true;
    const pool = poolOf(run);
    backlog.take(pool);
    return {
      run,
      settle: () => {
        if (!isOpen || client.connection.isClosed()) return;
        isOpen = false;
        backlog.settle(pool);
        remove();
      },
    };
  };

  /** Puts a run back that has given its turn away. The server is asked for the next run of the lane once it has that one again. */
  const giveTurn = (consumer: string, message: Msg): void => {
    returning.add(consumer);
    void client
      .request(message.reply ?? '', Buffer.from(nak))
      .catch(() => undefined)
      .finally(() => {
        returning.delete(consumer);
        pullAll();
      });
  };

  /** Gives a taker the delivered run, or the better one that has its turn. */
  const hand = ({ consumer, message, left }: Delivery, run?: RunnableRun, better?: UrgentRun): void => {
    const next = better?.run ?? run;
    const give = next && takers.next(next);
    // A run that is not taken stays the lane's next one.
    if (left > 0 || !give || better) filled.add(consumer);
    if (!run) {
      log.error({ subject: message.subject }, 'a message of the queue is not a run; it is deleted');
      message.respond(term);
    } else if (better) {
      giveTurn(consumer, message);
      if (give) give(toTaken(better.run, better.remove));
      else better.release();
    } else if (give) give(toTaken(run, () => message.respond(ack)));
    // Another replica may have a free slot. Names of pools may share a hash: then the run is one of the other pool's.
    else message.respond(takers.count() === 0 ? nak : nakForLater);
    pullAll();
  };

  const deliver = (delivery: Delivery): void => {
    const { consumer, message, left } = delivery;
    consumers.addDelivery(consumer);
    filled.delete(consumer);
    unanswered.delete(consumer);
    const run = readRun(message);
    // Where nothing else waits there is no better run.
    if (!run || !urgent || (left === 0 && filled.size === 0)) {
      hand(delivery, run);
      return;
    }
    deciding.add(consumer);
    void urgent.insteadOf(run, message.subject).then((better) => {
      deciding.delete(consumer);
      hand(delivery, run, better);
    });
  };

  const pulls = createPulls({
    client,
    // The server still delivers to the open pull requests of a worker that freezes. They expire before its lease, also where it
    // froze just before a heartbeat, so that none of its runs comes back to it.
    expiryMs: settings.settleMs / pullsPerLease,
    onDelivery: deliver,
    onEmpty: (consumer) => {
      filled.delete(consumer);
      unanswered.delete(consumer);
      pullAll();
    },
    onFailed: () => void pullSoon(),
    onExpired: (consumer) => {
      unanswered.delete(consumer);
      pullAll();
    },
    onMissing: (consumer) => {
      filled.delete(consumer);
      noteUnanswered(consumer);
      restoring ??= restore().finally(() => {
        restoring = undefined;
      });
    },
  });

  const consumers = createConsumerCheck({ streams, log, pulls });

  // Without an open pull request only this says that the lane has a run.
  const onPut = (consumer: string): void => {
    const lane = lanes.get(consumer);
    const isAsked = lane !== undefined && pulls.isOpen(lane);
    if (!isAsked && filled.size < maxFilled) filled.add(consumer);
  };
  const onWaiting = createDeliveryCheck({ streams, log }).see;
  const put = ofPool?.put ?? createPut({ streams, backlog, closing: closing.signal, onPut, onWaiting });

  const pullSoon = async (): Promise<void> => {
    await pause(retryMs, closing.signal).catch(() => undefined);
    pullAll();
  };

  let restoring: Promise<void> | undefined;
  const restore = async (): Promise<void> => {
    try {
      await client.connected(closing.signal);
      if (!ofPool) await streams.ensureRuns();
      await ensureLanes([...served.values()]);
    } catch (error) {
      noteUncreated(error);
      if (ofPool) await pause(lanesRetryMs, closing.signal).catch(() => undefined);
    }
    await pullSoon();
  };

  const watch = async (): Promise<void> => {
    if (takers.count() === 0 || !client.isConnected()) return;
    pulls.dropOverdue();
    pullAll();
    if (!ofPool) await consumers.check([...lanes.values()]);
  };

  if (!ofPool) await streams.ensureRuns();
  const reconnects = client.onReconnect(() => {
    pulls.dropAll();
    pullAll();
  });
  const watching = every(watchMs, watch, (error) => {
    if (isStreamAway(error)) void restore();
    else log.debug({ err: error }, 'the consumers of the queue could not be checked');
  });

  return {
    enqueue: put,
    waiting: backlog.waiting,
    backlogs: backlog.backlogs,
    recount: backlog.recount,
    take: takers.take,

    leave: async () => {
      hasLeft = true;
      // Without a connection no run is delivered here.
      await settledWithin(
        pulls.leave().catch(() => undefined),
        leaveMs,
      );
    },

    [Symbol.asyncDispose]: async () => {
      closing.abort();
      reconnects[Symbol.dispose]();
      pulls[Symbol.dispose]();
      await watching[Symbol.asyncDispose]();
    },
  };
}
