import { every, settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { pause } from '@agent-workflow/kit/retry';
import type { Msg } from 'nats';
import type { RunnableRun, RunQueue, TakenRun } from '../../../ports/queue.ts';
import { isStreamAway, type Streams } from '../client/streams.ts';
import { createBacklog } from './backlog.ts';
import { createConsumerCheck } from './consumer-check.ts';
import { createPulls, lanes, type Delivery } from './pulls.ts';
import { createPut } from './put.ts';
import { readRun } from './run-message.ts';
import { createTakers } from './takers.ts';

interface NatsQueueOptions {
  readonly streams: Streams;
  readonly log: Log;
  /** How often consumers are checked while a worker waits for runs, in milliseconds. */
  readonly watchMs: number;
}

const ack = '+ACK';
const nak = '-NAK';
const term = '+TERM';
const retryMs = 100;
const pullsPerLease = 2;
/** How long the server may take to close the pull requests of a replica that leaves, in milliseconds. */
const leaveMs = 1000;

/** Opens the queue on a stream, and creates stream and consumers where they are missing. */
export async function openNatsRunQueue({ streams, log, watchMs }: NatsQueueOptions): Promise<RunQueue> {
  const { client, names, settings } = streams;
  const closing = new AbortController();
  const takers = createTakers(() => pullAll());
  /** Lanes with waiting runs, in the order of their turns. */
  const filled = new Set<number>();
  const backlog = createBacklog(streams);
  let hasLeft = false;

  /** Requests runs from as many filled lanes as there are takers, in turn, and the next run from every other lane. */
  const pullAll = (): void => {
    if (takers.count() === 0 || hasLeft || closing.signal.aborted || !client.isConnected()) return;
    let wanted = takers.count() - [...filled].filter(pulls.isOpen).length;
    for (const lane of [...filled]) {
      if (wanted <= 0) break;
      if (pulls.isOpen(lane)) continue;
      pulls.pullNow(lane);
      wanted--;
    }
    for (const lane of lanes) if (!filled.has(lane) && !pulls.isOpen(lane)) pulls.pullNext(lane);
  };

  const toTaken = (message: Msg, run: RunnableRun): TakenRun => {
    let isOpen = true;
    backlog.take();
    return {
      run,
      settle: () => {
        if (!isOpen || client.connection.isClosed()) return;
        isOpen = false;
        backlog.settle();
        message.respond(ack);
      },
    };
  };

  const deliver = ({ lane, message, left }: Delivery): void => {
    consumers.addDelivery(lane);
    filled.delete(lane);
    const give = takers.next();
    const run = readRun(message);
    // A run that is not taken stays the lane's next one.
    if (left > 0 || !give) filled.add(lane);
    if (!run) {
      log.error({ subject: message.subject }, 'a message of the queue is not a run; it is deleted');
      message.respond(term);
    } else if (give) give(toTaken(message, run));
    // Another replica may have a free slot.
    else message.respond(nak);
    pullAll();
  };

  const pulls = createPulls({
    client,
    names,
    // The server still delivers to the open pull requests of a worker that freezes. They expire before its lease, also where it
    // froze just before a heartbeat, so that none of its runs comes back to it.
    expiryMs: settings.settleMs / pullsPerLease,
    onDelivery: deliver,
    onEmpty: (lane) => {
      filled.delete(lane);
      pullAll();
    },
    onFailed: () => void pullSoon(),
    onExpired: pullAll,
    onMissing: (lane) => {
      filled.delete(lane);
      restoring ??= restore().finally(() => {
        restoring = undefined;
      });
    },
  });

  const consumers = createConsumerCheck({ streams, log, backlog, pulls });

  const put = createPut({
    ...{ streams, backlog, closing: closing.signal },
    // Without an open pull request only this says that the lane has a run.
    onPut: (lane) => {
      if (!pulls.isOpen(lane)) filled.add(lane);
    },
  });

  const pullSoon = async (): Promise<void> => {
    await pause(retryMs, closing.signal).catch(() => undefined);
    pullAll();
  };

  let restoring: Promise<void> | undefined;
  const restore = async (): Promise<void> => {
    try {
      await client.connected(closing.signal);
      await streams.ensureRuns();
    } catch (error) {
      log.debug({ err: error }, 'the queue could not be created again yet');
    }
    await pullSoon();
  };

  const watch = async (): Promise<void> => {
    if (takers.count() === 0 || !client.isConnected()) return;
    pulls.dropOverdue();
    pullAll();
    await consumers.check();
  };

  await streams.ensureRuns();
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
