import { randomUuid } from '@agent-workflow/kit/uuid';
import { bytesOf } from './bytes.ts';
import { isJson, isPage, RequestError, toCut, toForeign } from './errors.ts';
import { send, type Connection, type RequestOptions } from './request.ts';
import { createRetries, type Retries } from './retries.ts';
import { readEvents } from '@agent-workflow/kit/sse';
import type { RunEvent, StreamMode } from './shapes/results.ts';
import type { RunRequest } from './shapes/runs.ts';
import { isTimeout } from './within.ts';

/** The events of a run. Leaving the loop leaves the run alone: it goes on. */
export type RunEvents = AsyncGenerator<RunEvent, void>;

/** How a reader of events is connected: a connection was `lost` and is made again, and has `resumed` with the next event. */
export type ConnectionChange = 'lost' | 'resumed';

export interface FollowOptions extends Pick<RequestOptions, 'signal'> {
  /** The whole `id` of the last event that came before, `{run_id}:{number}`; all events come without it. Behind the last event there is none. */
  readonly after?: string | undefined;
  /** What comes beside the events, from the record: how steps begin and end, the state after each, or both. Nothing unless given. */
  readonly modes?: readonly StreamMode[] | undefined;
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
export async function* startAndFollow(
  connection: Connection,
  body: RunRequest,
  { idempotencyKey = randomUuid(), ...options }: RequestOptions & Pick<FollowOptions, 'onConnection' | 'modes'>,
): RunEvents {
  const asked = options.modes ? { ...body, stream_modes: options.modes } : body;
  const start = { method: 'POST', path: '/v1/graph/stream', body: asked, idempotencyKey };
  yield* followFrom(connection, {}, { ...options, start });
}

/**
 * The events of a run after the one of the id `after`; all of them without it. None come when it was the last.
 * @throws TypeError for an `after` that is no text.
 */
export async function* follow(connection: Connection, runId: string, { after, ...options }: FollowOptions): RunEvents {
  requireValidAfter(after);
  yield* followFrom(connection, { runId, after }, options);
}

/** Callers without types may give the number of the event, which `?after=` of the API takes. */
function requireValidAfter(after: unknown): void {
  if (after === undefined || typeof after === 'string') return;
  throw new TypeError(`after must be the id of an event, as "{run_id}:7", and is of the type ${typeof after}`);
}

interface Following extends Pick<FollowOptions, 'signal' | 'onConnection' | 'modes'> {
  /** The request that starts the run, for as long as its id is not known. */
  readonly start?: Omit<Parameters<typeof send>[1], 'headers' | 'signal' | 'head'> | undefined;
}

/** What the connections of a reader have in common. */
interface Reading extends Pick<Following, 'signal' | 'start' | 'modes'> {
  readonly connection: Connection;
  readonly retries: Retries;
}

/**
 * Every event once and in order. A connection that is cut is made again after the last event that came, by whatever replica
 * answers; it is given up when the service stays unavailable, or its connections bring nothing, for as long as a request is repeated.
 * @throws RequestError when the run is refused or the service stays unavailable; the signal's reason.
 */
async function* followFrom(connection: Connection, from: Position, options: Following): RunEvents {
  const { signal, start, onConnection, modes } = options;
  const setLost = createAnnouncer(onConnection);
  const onRetry = ({ status }: RequestError): void => {
    if (status === 0) setLost(true);
  };
  const retries = createRetries(connection, { signal, onRetry });
  const reading = { connection, retries, signal, start, modes };
  for (let position = from; ;) {
    const body = await connect(reading, position);
    const connectedAt = performance.now();
    let cut: RequestError | undefined;
    try {
      for await (const event of eventsOf(body, reading)) {
        setLost(false);
        retries.reset();
        // What stands between the events has no id: it belongs to the event after it.
        const id = event.id || (position.after ?? '');
        position = { runId: event.run_id, after: id };
        yield { ...event, id };
        if (isLast(event)) return;
      }
    } catch (error) {
      if (!isCut(error)) throw error;
      cut = error;
    }
    const silentMs = isTimeout(cut?.cause) ? connection.silenceMs : 0;
    if (performance.now() - connectedAt - silentMs >= servedMs) retries.reset();
    // The reader has no event of this run yet: the one that it named may be the last.
    if (!cut && position === from && (await isBehindLast({ ...reading, modes: undefined }, position))) {
      setLost(false);
      return;
    }
    await retries.after(cut ?? toCut('the stream of the run ended before its last event'));
  }
}

/** Announces each change of whether the connection is lost. It is not at first. */
function createAnnouncer(onConnection: FollowOptions['onConnection']): (isLost: boolean) => void {
  let wasLost = false;
  return (isLost) => {
    if (isLost === wasLost) return;
    wasLost = isLost;
    onConnection?.(isLost ? 'lost' : 'resumed');
  };
}

/** A connection of this length was served: a run may have no events for days, while gateways are replaced. */
const servedMs = 15_000;

const isCut = (error: unknown): error is RequestError => error instanceof RequestError && error.status === 0;

/**
 * Whether the event of the id `after` is the last of its run, or comes after it. A stream that brought nothing may also have been cut,
 * which only that event itself decides: it stands right after the number before.
 */
async function isBehindLast(reading: Reading, { runId, after }: Position): Promise<boolean> {
  if (runId === undefined || after === undefined) return false;
  const number = numberOf(after);
  // From its beginning a log is read for a number beyond its end alone.
  const places = number > 1 ? [`${runId}:${String(number - 1)}`, undefined] : [undefined];
  for (const place of places) {
    const body = await connect(reading, { runId, after: place });
    try {
      for await (const event of eventsOf(body, reading)) {
        if (isLast(event) || numberOf(event.id) >= number) return isLast(event) && numberOf(event.id) <= number;
      }
    } catch (error) {
      if (!isCut(error)) throw error;
    }
  }
  return false;
}

/** The number in the id of an event. */
const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf(':') + 1));

type Body = Response['body'];

/** A connection that the service has taken. */
function connect({ connection, retries, signal, start, modes }: Reading, { runId, after }: Position): Promise<Body> {
  const sent =
    runId === undefined && start ? start : { method: 'GET', path: '/v1/runs/{runId}/stream', ids: { runId } };
  const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) };
  const query = {
    ...(after !== undefined && placeOf(after)),
    ...(runId !== undefined && modes && { stream_modes: modes.join(',') }),
  };
  return send(connection, { ...sent, headers, query, signal, head: 'stream' }, bodyOf, retries);
}

/**
 * The place in the query, beside the header: a proxy that takes the header out would have every event come again, with each connection that is
 * cut. The header counts where both arrive, so that an id of another run is refused.
 */
function placeOf(after: string): { readonly after?: number } {
  const number = numberOf(after);
  return Number.isSafeInteger(number) && number >= 0 ? { after: number } : {};
}

function bodyOf(response: Response): Body {
  if (!isPage(response) && !isJson(response)) return response.body;
  response.body?.cancel().catch(() => undefined);
  throw toForeign(response, isPage(response) ? 'it is a page' : 'it is JSON, and no stream');
}

/** The events of one connection. It ends without a last event when the gateway drains, and is cut when it is silent: an idle stream has comments. */
async function* eventsOf(body: Body, { connection: { silenceMs }, signal }: Reading): RunEvents {
  if (!body) return;
  const events = readEvents(bytesOf(body, { silenceMs, signal }));
  try {
    for (;;) {
      const next = await events.next().catch((error: unknown) => {
        signal?.throwIfAborted();
        throw toCut('the stream of the run was cut', error);
      });
      if (next.done) return;
      yield { id: next.value.id, ...(JSON.parse(next.value.data) as Omit<RunEvent, 'id'>) };
    }
  } finally {
    await events.return(undefined);
  }
}
