import { randomUuid } from '@agent-workflow/kit/uuid';
import { RequestError, toUnreachable } from './errors.ts';
import { pause, pauseMs, send, type Connection, type RequestOptions } from './request.ts';
import { readEvents } from '@agent-workflow/kit/sse';
import type { RunEvent, RunRequest } from './shapes.ts';

/** The events of a run. Leaving the loop leaves the run alone: it goes on. */
export type RunEvents = AsyncGenerator<RunEvent, void>;

/** How a reader of events is connected: a connection was `lost` and is made again, and has `resumed` with the next event. */
export type ConnectionChange = 'lost' | 'resumed';

export interface FollowOptions extends Pick<RequestOptions, 'signal'> {
  /** The id of the last event that came before; all events come without it. */
  readonly after?: string | undefined;
  /** Called at each cut, and when it is over. No event is missing then. */
  readonly onConnection?: ((change: ConnectionChange) => void) | undefined;
}

/** The last event of a run is of one of these kinds. */
const isLast = ({ event }: RunEvent): boolean => event === 'on_chain_end' || event === 'error';

/** Where a reader of a run stands. */
interface Position {
  /** Unknown before the first event of a run that is started. */
  readonly runId?: string;
  /** The id of the last event that came. */
  readonly after?: string | undefined;
}

/**
 * Starts a run and gives its events to the last. Until the first event is there the start itself is repeated, under its
 * idempotency key, so that one run is made.
 */
export async function* startAndFollow(connection: Connection, body: RunRequest, options: RequestOptions): RunEvents {
  const { signal, idempotencyKey = randomUuid() } = options;
  const start = { method: 'POST', path: '/v1/graph/stream', body, idempotencyKey };
  yield* followFrom(connection, {}, { signal, start });
}

/** The events of a run behind the one of the id `after`; all of them without it. */
export async function* follow(connection: Connection, runId: string, { after, ...options }: FollowOptions): RunEvents {
  yield* followFrom(connection, { runId, after }, options);
}

interface Following extends Pick<FollowOptions, 'signal' | 'onConnection'> {
  /** The request that starts the run, for as long as its id is not known. */
  readonly start?: Omit<Parameters<typeof send>[1], 'headers' | 'signal'> | undefined;
}

/**
 * Every event once and in order. A connection that is cut is made again behind the last event that came, by whatever replica
 * answers; it is given up when so many in a row, as the connection has attempts, brought nothing.
 * @throws RequestError when the run is refused or the service stays away; the signal's reason.
 */
async function* followFrom(connection: Connection, from: Position, options: Following): RunEvents {
  const { signal, onConnection } = options;
  let position = from;
  for (let failures = 0; ;) {
    try {
      for await (const event of eventsOf(connection, position, options)) {
        if (failures > 0) onConnection?.('resumed');
        failures = 0;
        position = { runId: event.run_id, after: event.id };
        yield event;
        if (isLast(event)) return;
      }
      throw toUnreachable('the stream ended before its last event');
    } catch (error) {
      signal?.throwIfAborted();
      // What was refused has been tried again already: what may be mended here is a connection that ended or broke.
      if (!(error instanceof RequestError) || error.status !== 0 || ++failures >= connection.maxAttempts) throw error;
      if (failures === 1) onConnection?.('lost');
      await pause(pauseMs(failures), signal);
    }
  }
}

/** The events of one connection. It ends without a last event when the gateway drains. */
async function* eventsOf(connection: Connection, { runId, after }: Position, { signal, start }: Following): RunEvents {
  const sent =
    runId === undefined && start ? start : { method: 'GET', path: '/v1/runs/{runId}/stream', ids: { runId } };
  const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) };
  const { body } = await send(connection, { ...sent, headers, signal }, (response) => response);
  if (!body) return;
  const events = readEvents(bytesOf(body));
  try {
    for (;;) {
      const next = await events.next().catch((error: unknown) => {
        signal?.throwIfAborted();
        throw toUnreachable(error);
      });
      if (next.done) return;
      yield { id: next.value.id, ...(JSON.parse(next.value.data) as Omit<RunEvent, 'id'>) };
    }
  } finally {
    await events.return(undefined);
  }
}

/** Not every browser iterates over a stream. Leaving early ends the connection. */
async function* bytesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
