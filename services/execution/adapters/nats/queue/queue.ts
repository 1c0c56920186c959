import { unavailable } from '@agent-workflow/kit/errors';
import { every, settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { Msg } from 'nats';
import type { RunnableRun, RunQueue, TakenRun } from '../../../ports/port.ts';
import { pause } from '../client.ts';
import { readTrace, toRunHeaders } from './headers.ts';
import { createLanes, heapSize } from './lanes.ts';
import { createPulls, lanesOf, type Delivery } from './pulls.ts';
import { createBacklog } from './backlog.ts';
import { hashOf, isStreamAway, remakeConsumer, type Streams } from '../streams.ts';

export interface NatsQueueOptions {
  readonly streams: Streams;
  readonly logger: Log;
  /** How often waiting for runs is looked after, in milliseconds; what gives out nothing for two looks is mended. */
  readonly watchMs: number;
}

interface Taker {
  readonly give: (taken: TakenRun) => void;
}

const ack = '+ACK';
const giveBack = '-NAK';
const throwAway = '+TERM';
/** How long putting a run into the queue is tried before it is left to the sweep, in milliseconds. */
const enqueueMs = 10_000;
const retryMs = 100;
const questionsPerLease = 2;
/** How long the server may take to hear that nothing is taken here any more, in milliseconds. */
const leaveMs = 1000;

/** Opens the queue on a stream, and makes stream and consumers where they are missing. */
export async function openNatsRunQueue({ streams, logger, watchMs }: NatsQueueOptions): Promise<RunQueue> {
  const { client, names, manager, settings } = streams;
  const closing = new AbortController();
  const takers = new Set<Taker>();
  /** Lanes where runs are known to wait, in the order of their turns. */
  const filled = new Set<number>();
  const backlog = createBacklog(streams);
  const isCalm = (): boolean => backlog.waiting() < heapSize;
  const laneOf = createLanes(isCalm);
  /** Lanes whose questions stay unanswered though runs wait there, since the last look. */
  let silent: ReadonlySet<number> = new Set();
  let hasLeft = false;
  let delivered = new Set<number>();

  /** Asks as many lanes that hold runs as there are takers, in turn, and all that hold none, for what comes. */
  const ask = (): void => {
    if (takers.size === 0 || hasLeft || closing.signal.aborted || !client.isConnected()) return;
    let wanted = takers.size - [...filled].filter(pulls.isOpen).length;
    for (const lane of [...filled]) {
      if (wanted <= 0) break;
      if (pulls.isOpen(lane)) continue;
      pulls.askNow(lane);
      wanted--;
    }
    for (const lane of lanesOf) if (!filled.has(lane) && !pulls.isOpen(lane)) pulls.askLater(lane);
  };

  const taken = (message: Msg, run: RunnableRun): TakenRun => {
    let open = true;
    backlog.take();
    return {
      run,
      settle: () => {
        if (!open || client.connection.isClosed()) return;
        open = false;
        backlog.settle();
        message.respond(ack);
      },
    };
  };

  const deliver = ({ lane, message, left }: Delivery): void => {
    delivered.add(lane);
    filled.delete(lane);
    const [taker] = takers;
    const run = readRun(message);
    // What was given back is the lane's next.
    if (left > 0 || !taker) filled.add(lane);
    if (!run) {
      logger.error({ subject: message.subject }, 'what waits in the queue is no run; it is thrown away');
      message.respond(throwAway);
    } else if (taker) taker.give(taken(message, run));
    // Another replica may be free.
    else message.respond(giveBack);
    ask();
  };

  const pulls = createPulls({
    client,
    names,
    // A worker that freezes is still given what its open questions ask for. They are over before its lease, also where it
    // froze just before a heartbeat, so that none of its runs comes back to it.
    expiryMs: settings.settleMs / questionsPerLease,
    onDelivery: deliver,
    onEmpty: (lane) => {
      filled.delete(lane);
      ask();
    },
    onOver: () => void askSoon(),
    onExpired: ask,
    onMissing: (lane) => {
      filled.delete(lane);
      restoring ??= restore().finally(() => {
        restoring = undefined;
      });
    },
  });

  const askSoon = async (): Promise<void> => {
    await pause(retryMs, closing.signal).catch(() => undefined);
    ask();
  };

  let restoring: Promise<void> | undefined;
  const restore = async (): Promise<void> => {
    try {
      await client.connected(closing.signal);
      await streams.ensureRuns();
    } catch (error) {
      logger.debug({ err: error }, 'the queue is not there yet');
    }
    await askSoon();
  };

  const subjectOf = (lane: number, { owner, runId, takeoverEpoch }: RunnableRun): string =>
    `${names.runSubject}.${lane}.${hashOf(owner).toString(36)}.${runId}.${takeoverEpoch ?? 'new'}`;

  /** Puts the run into its lane; a subject that holds a run already takes no second one. */
  const publish = async (lane: number, run: RunnableRun): Promise<void> => {
    const done = backlog.put();
    let isNew = false;
    try {
      const payload = Buffer.from(JSON.stringify(toJson(run)));
      const reply = await client.request(subjectOf(lane, run), payload, { headers: toRunHeaders(run) });
      isNew = readAnswer(reply);
    } finally {
      done(isNew);
    }
    // While nobody asks, this is how the lane is known to hold a run.
    if (isNew && !pulls.isOpen(lane)) filled.add(lane);
  };

  const waitsIn = async (lane: number, run: RunnableRun): Promise<boolean> => {
    const { headers } = await client.request(`$JS.API.DIRECT.GET.${names.runs}.${subjectOf(lane, run)}`, nothing);
    return headers?.code !== notFoundStatus;
  };

  /** A consumer that gives out nothing though runs wait and it is asked for them, from one look to the next, is made anew. */
  const watch = async (): Promise<void> => {
    if (takers.size === 0 || !client.isConnected()) return;
    pulls.dropOverdue();
    ask();
    const waiting = await backlog.filledLanes();
    const quiet = new Set([...waiting].filter((lane) => !delivered.has(lane) && pulls.isOpen(lane)));
    delivered = new Set();
    for (const lane of quiet) {
      if (!silent.has(lane)) continue;
      logger.warn({ lane }, 'a consumer of the queue gives out nothing; it is made anew');
      await remakeConsumer(manager, settings, lane);
    }
    silent = quiet;
  };

  await streams.ensureRuns();
  const reconnects = client.onReconnect(() => {
    pulls.dropAll();
    ask();
  });
  const watchdog = every(watchMs, watch, (error) => {
    if (isStreamAway(error)) void restore();
    else logger.debug({ err: error }, 'the queue could not be looked after');
  });

  return {
    enqueue: async (run) => {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(enqueueMs)]);
      const { lane, other, isHeap } = laneOf(run.owner);
      for (;;) {
        try {
          // Where runs come in heaps, one that is put in again may stand in its owner's other lane.
          if ((isHeap || !isCalm()) && (await waitsIn(other, run))) return;
          await publish(lane, run);
          return;
        } catch (error) {
          if (isStreamAway(error)) await streams.ensureRuns().catch(() => undefined);
          await client
            .connected(signal)
            .then(async () => pause(retryMs, signal))
            .catch(() => {
              throw unavailable('the queue cannot be reached right now', error);
            });
        }
      }
    },

    waiting: backlog.waiting,

    take: (signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const stop = (): void => {
          takers.delete(taker);
          reject(signal.reason as Error);
        };
        const taker: Taker = {
          give: (run) => {
            takers.delete(taker);
            signal.removeEventListener('abort', stop);
            resolve(run);
          },
        };
        takers.add(taker);
        signal.addEventListener('abort', stop, { once: true });
        ask();
      }),

    leave: async () => {
      hasLeft = true;
      // Without a connection nothing is given to anyone here.
      await settledWithin(
        pulls.leave().catch(() => undefined),
        leaveMs,
      );
    },

    [Symbol.asyncDispose]: async () => {
      closing.abort();
      reconnects[Symbol.dispose]();
      pulls[Symbol.dispose]();
      await watchdog[Symbol.asyncDispose]();
    },
  };
}

const nothing = new Uint8Array();
const notFoundStatus = 404;
const waitsAlready = 'maximum messages per subject exceeded';

/** Whether the run was put in; it was not when it waits already. @throws Unavailable when the stream refused it. */
function readAnswer(reply: Msg): boolean {
  const { error } = reply.json<{ readonly error?: { readonly description: string } }>();
  if (!error) return true;
  if (error.description.includes(waitsAlready)) return false;
  throw unavailable('the queue takes no runs', error);
}

/** A run as it stands in the queue; its trace stands in the headers. */
const toJson = ({ owner, threadId, runId, takeoverEpoch }: RunnableRun): RunnableRun => ({
  owner,
  threadId,
  runId,
  ...(takeoverEpoch === undefined ? {} : { takeoverEpoch }),
});

/** `undefined` when the message is none that this queue has put in. */
function readRun(message: Msg): RunnableRun | undefined {
  const trace = readTrace(message);
  const run = parsed(message);
  const isRun = [run?.owner, run?.threadId, run?.runId].every((text) => typeof text === 'string');
  return run && isRun ? { ...toJson(run), ...(trace ? { trace } : {}) } : undefined;
}

function parsed(message: Msg): RunnableRun | undefined {
  try {
    return message.json<RunnableRun>();
  } catch {
    return undefined;
  }
}
