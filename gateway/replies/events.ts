import type { ServerResponse } from 'node:http';
import type { Log } from '@agent-workflow/kit/log';
import type { RequestConfig } from '../http/settings.ts';
import type { RunStream, ThreadStream } from '../http/endpoint.ts';
import type { Context } from '../http/context.ts';
import type { Feeds, Reader, StreamBytes } from './feeds.ts';
import type { Framing } from '../http/framing.ts';
import { sendHead } from '../http/reply.ts';

/** Keeps proxies from storing, changing or buffering a stream. */
const streamHeaders = ['Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no'];

/** Headers wait this long for the first event, so that both are sent in one packet. In milliseconds. */
const headDelayMs = 100;

/** The connection of a reader that reads nothing for this time is closed. In milliseconds. */
const stalledMs = 5 * 60_000;

/** The event of the application that ends the streams of threads, which have no end of their own, when the process begins to drain. */
export const endThreads = 'end-threads';

/** The event of the application that ends its streams; their readers resume at another replica. */
export const endStreams = 'end-streams';

interface EventsOptions {
  readonly config: Pick<RequestConfig, 'STREAM_COMMENT_SECONDS'>;
  readonly feeds: Feeds;
  readonly log: Log;
  /** Ends the calls to the execution service. */
  readonly abort: () => void;
}

/**
 * Streams the events of a run as fast as the caller reads them. The stream ends after the terminal event. It ends without one
 * when the process drains or the log cannot be read, which means to the caller: resume. A dialect whose clients do not know that has it cut.
 */
export async function writeEvents(ctx: Context, stream: RunStream, options: EventsOptions): Promise<void> {
  const framing = ctx.state.dialect.framingFor(ctx.req.headers.accept);
  using pipe = openPipe(ctx, framing, options);
  using reader = openReader(stream, framing, options);
  let isWhole = false;
  try {
    while (await writeNext(reader, pipe));
    isWhole = !pipe.isOver();
  } catch (error) {
    noteCut({ ctx, pipe, runId: stream.follow.runId }, error, options);
  }
  if (isWhole || !ctx.state.dialect.cutsUnfinished) pipe.end();
  else pipe.cut();
}

/**
 * Streams runs, one after the other, until the last has ended, or the reader of a stream without an end disconnects. For any other reason it is cut,
 * which means to the caller: resume.
 */
export async function writeThread(ctx: Context, { runs, ends }: ThreadStream, options: EventsOptions): Promise<void> {
  const framing = ctx.state.dialect.framingFor(ctx.req.headers.accept);
  using pipe = openPipe(ctx, framing, options);
  using _ = endingWith(ctx, endThreads, options.abort);
  using _expiry = atExpiry(ctx, options.abort);
  let runId = '';
  let isWhole = false;
  try {
    for await (const run of runs) {
      ({ runId } = run.follow);
      using reader = openReader(run, framing, options);
      while (await writeNext(reader, pipe));
      if (pipe.isOver()) break;
    }
    isWhole = ends === true;
  } catch (error) {
    noteCut({ ctx, pipe, runId }, error, options);
  }
  if (isWhole) pipe.end();
  else pipe.cut();
}

const openReader = ({ follow, call, extras }: RunStream, framing: Framing, { feeds }: EventsOptions): Reader =>
  feeds.open(follow, framing, call, extras);

/** Acts when the application says so, until it is disposed. */
function endingWith({ app }: Context, event: string, act: () => void): Disposable {
  app.once(event, act);
  return { [Symbol.dispose]: () => void app.off(event, act) };
}

/** The longest that a timer waits, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** Acts when the credentials of the caller expire, until it is disposed. */
export function atExpiry({ state: { expiresAt } }: Context, act: () => void): Disposable {
  if (expiresAt === undefined) return { [Symbol.dispose]: () => undefined };
  return setTimeout(act, Math.max(0, Math.min(expiresAt - Date.now(), longestTimer)));
}

interface CutStream {
  readonly ctx: Context;
  readonly pipe: Pipe;
  readonly runId: string;
}

/** @throws the error where nothing was sent: it is the reply. */
function noteCut({ ctx, pipe, runId }: CutStream, error: unknown, { log }: EventsOptions): void {
  if (!ctx.headerSent) throw error;
  if (pipe.isOver()) return;
  const about = { err: error, request_id: ctx.state.requestId, run_id: runId };
  log.warn(about, 'a stream was ended before its terminal event; its reader can resume');
}

/**
 * Writes the next bytes, as soon as there are some. Resolves with whether more may follow. A function of its own, so that a reader
 * that waits does not keep the bytes before, and with them the whole buffer that they are a part of.
 */
async function writeNext(reader: Pick<Reader, 'next'>, pipe: Pipe): Promise<boolean> {
  const next = await reader.next();
  if (!next || pipe.isOver()) return false;
  await pipe.write(next);
  return true;
}

interface Pipe extends Disposable {
  /** Resolves when the socket's buffer has room again. */
  readonly write: (next: StreamBytes) => Promise<void> | undefined;
  readonly end: () => void;
  /** Ends it so that its reader knows that more was to come. */
  readonly cut: () => void;
  /** Whether nothing more may be written. */
  readonly isOver: () => boolean;
}

function openPipe(ctx: Context, framing: Framing, { config, abort }: EventsOptions): Pipe {
  const { type, comment: idle, mostCommentSeconds = Infinity } = framing;
  const { res, app } = ctx;
  let isEnding = false;
  let isWithinEvent = false;
  const begin = (): void => {
    if (!res.headersSent) sendHead(ctx, 200, ['Content-Type', type, ...streamHeaders]);
  };
  const onEndStreams = (): void => {
    isEnding = true;
    abort();
  };
  app.once(endStreams, onEndStreams);
  const headTimer = setTimeout(() => {
    begin();
    res.flushHeaders();
  }, headDelayMs);
  const commentTimer = setInterval(
    () => {
      begin();
      if (idle !== '' && !isWithinEvent && !res.writableNeedDrain) res.write(idle);
    },
    Math.min(config.STREAM_COMMENT_SECONDS, mostCommentSeconds) * 1000,
  );

  return {
    write: ({ bytes, isWhole }) => {
      commentTimer.refresh();
      begin();
      isWithinEvent = !isWhole;
      return res.write(bytes) ? undefined : untilWritable(res);
    },
    end: () => {
      begin();
      res.end();
    },
    cut: () => {
      begin();
      res.flushHeaders();
      // The body has no end: what was written is sent, and the connection closed.
      res.socket?.end();
    },
    isOver: () => isEnding || res.destroyed,
    [Symbol.dispose]: () => {
      clearTimeout(headTimer);
      clearInterval(commentTimer);
      app.off(endStreams, onEndStreams);
    },
  };
}

/** Resolves when the socket's buffer has room again, or the connection is closed. */
async function untilWritable(res: ServerResponse): Promise<void> {
  if (res.destroyed) return;
  await new Promise<void>((resolve) => {
    const stalled = setTimeout(() => res.destroy(), stalledMs);
    const done = (): void => {
      clearTimeout(stalled);
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
  });
}
