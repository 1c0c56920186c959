import { unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import { priorityOf, type RunnableRun } from '../../../ports/queue.ts';
import { steadily } from '../client/client.ts';
import { consumerOf, hashOfPool, poolOf, type Pool } from '../client/pools.ts';
import { wordOfOwner } from '../client/names.ts';
import { isStreamAway, type Streams } from '../client/streams.ts';
import type { Backlog } from './backlog.ts';
import { toRunHeaders } from './headers.ts';
import { bulkSize, createLanes } from './lanes.ts';
import { readPutReply, type PutReply } from './put-reply.ts';
import { toRunPayload } from './run-message.ts';

interface PutOptions {
  readonly streams: Streams;
  readonly backlog: Pick<Backlog, 'waitingOf' | 'put'>;
  readonly closing: AbortSignal;
  /** Called with the consumer of a lane, when a run was put into it that had none like it. */
  readonly onPut: (consumer: string) => void;
  /** Called when a run was put into a lane in which it waits already. */
  readonly onWaiting: (pool: Pool, lane: number) => void;
}

/** Puts a run into the stream, unless it waits there. @throws Unavailable when the stream takes no runs for 10 s. */
type Put = (run: RunnableRun) => Promise<void>;

/** How long an attempt to put a run is repeated before the run is left to the sweep, in milliseconds. */
const putMs = 10_000;
const retryMs = 100;

export function createPut(options: PutOptions): Put {
  const { streams, backlog, closing, onPut, onWaiting } = options;
  const { client, names } = streams;
  const isCalm = (pool: Pool): boolean => backlog.waitingOf(pool) < bulkSize;
  const laneOf = createLanes(isCalm);

  const subjectOf = ({ owner, runId, takeoverEpoch, ...run }: RunnableRun, lane: number): string => {
    const place = `${names.runSubject}.${hashOfPool(poolOf(run))}.${lane}.${wordOfOwner(owner)}.${runId}.${takeoverEpoch ?? 'new'}`;
    return priorityOf(run) === 0 ? place : `${place}.${priorityOf(run)}`;
  };

  const publish = async (run: RunnableRun, lane: number): Promise<void> => {
    const pool = poolOf(run);
    const done = backlog.put(pool);
    let isNew = false;
    try {
      const headers = toRunHeaders(run);
      // The server refuses it when the subject holds a message.
      headers.set('Nats-Expected-Last-Subject-Sequence', '0');
      const reply = await client.request(subjectOf(run, lane), toRunPayload(run), { headers });
      isNew = readPutReply(reply.json<PutReply>());
    } finally {
      done(isNew);
    }
    if (isNew) onPut(consumerOf(pool, lane));
    else onWaiting(pool, lane);
  };

  const waitsIn = async (run: RunnableRun, lane: number): Promise<boolean> => {
    const { headers } = await client.request(`$JS.API.DIRECT.GET.${names.runs}.${subjectOf(run, lane)}`, nothing);
    return headers?.code !== notFoundStatus;
  };

  return async (run) => {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(putMs)]);
    const pool = poolOf(run);
    const { lane, other, isBulk } = laneOf(run.owner, pool);
    let failure: unknown;
    const attempt = async (): Promise<void> => {
      // When runs arrive in bulk, one that is put again may wait in the other lane of its owner.
      if ((isBulk || !isCalm(pool)) && (await waitsIn(run, other))) onWaiting(pool, other);
      else await publish(run, lane);
    };
    await retry(attempt, {
      ...steadily(retryMs),
      signal,
      mayHelp: () => true,
      onRetry: async (error) => {
        failure = error;
        if (isStreamAway(error)) await streams.ensureRuns().catch(() => undefined);
        await client.connected(signal);
      },
    }).catch((error: unknown) => {
      throw unavailable('the queue cannot be reached right now', failure ?? error);
    });
  };
}

const nothing = new Uint8Array();
const notFoundStatus = 404;
