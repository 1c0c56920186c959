import { unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { RunnableRun } from '../../../ports/queue.ts';
import { steadily } from '../client/client.ts';
import { consumerOf, hashOfPool, isOfOlder, poolOf, type Pool } from '../client/pools.ts';
import { hashOf } from '../client/names.ts';
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
  /** Whether workers may be there that take runs from the stream of the version before alone. */
  readonly areOlderThere: () => boolean;
  /** Creates the stream again, and finds out anew whether that of the version before is there. */
  readonly ensureStreams: () => Promise<void>;
}

/** A stream that runs are put into, and their subject there. */
interface PutPlace {
  readonly stream: string;
  readonly subjectOf: (lane: number) => string;
}

/** Puts a run into the stream, unless it waits there. @throws Unavailable when the stream takes no runs for 10 s. */
type Put = (run: RunnableRun) => Promise<void>;

/** How long an attempt to put a run is repeated before the run is left to the sweep, in milliseconds. */
const putMs = 10_000;
const retryMs = 100;

export function createPut(options: PutOptions): Put {
  const { streams, backlog, closing, onPut, onWaiting, areOlderThere, ensureStreams } = options;
  const { client, names } = streams;
  const isCalm = (pool: Pool): boolean => backlog.waitingOf(pool) < bulkSize;
  const laneOf = createLanes(isCalm);

  const placeOf = ({ owner, runId, takeoverEpoch, ...run }: RunnableRun): PutPlace => {
    const rest = `${hashOf(owner).toString(36)}.${runId}.${takeoverEpoch ?? 'new'}`;
    const pool = poolOf(run);
    return isOfOlder(pool) && areOlderThere()
      ? { stream: names.olderRuns, subjectOf: (lane) => `${names.olderRunSubject}.${lane}.${rest}` }
      : { stream: names.runs, subjectOf: (lane) => `${names.runSubject}.${hashOfPool(pool)}.${lane}.${rest}` };
  };

  const noteWaiting = ({ stream }: PutPlace, lane: number, pool: Pool): void => {
    if (stream === names.runs) onWaiting(pool, lane);
  };

  const publish = async (place: PutPlace, lane: number, run: RunnableRun): Promise<void> => {
    const pool = poolOf(run);
    const done = backlog.put(pool);
    let isNew = false;
    try {
      const headers = toRunHeaders(run);
      // The server refuses it when the subject holds a message.
      headers.set('Nats-Expected-Last-Subject-Sequence', '0');
      const reply = await client.request(place.subjectOf(lane), toRunPayload(run), { headers });
      isNew = readPutReply(reply.json<PutReply>());
    } finally {
      done(isNew);
    }
    if (isNew) onPut(consumerOf(pool, lane));
    else noteWaiting(place, lane, pool);
  };

  const waitsIn = async ({ stream, subjectOf }: PutPlace, lane: number): Promise<boolean> => {
    const { headers } = await client.request(`$JS.API.DIRECT.GET.${stream}.${subjectOf(lane)}`, nothing);
    return headers?.code !== notFoundStatus;
  };

  return async (run) => {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(putMs)]);
    const pool = poolOf(run);
    const { lane, other, isBulk } = laneOf(run.owner, pool);
    let failure: unknown;
    const attempt = async (): Promise<void> => {
      const place = placeOf(run);
      // When runs arrive in bulk, one that is put again may wait in the other lane of its owner.
      if ((isBulk || !isCalm(pool)) && (await waitsIn(place, other))) noteWaiting(place, other, pool);
      else await publish(place, lane, run);
    };
    await retry(attempt, {
      ...steadily(retryMs),
      signal,
      mayHelp: () => true,
      onRetry: async (error) => {
        failure = error;
        if (isStreamAway(error)) await ensureStreams().catch(() => undefined);
        await client.connected(signal);
      },
    }).catch((error: unknown) => {
      throw unavailable('the queue cannot be reached right now', failure ?? error);
    });
  };
}

const nothing = new Uint8Array();
const notFoundStatus = 404;
