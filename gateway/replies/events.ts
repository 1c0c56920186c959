import type { ServerResponse } from 'node:http';
import type { Log } from '@agent-workflow/kit/log';
import type { RequestConfig } from '../http/settings.ts';
import type { RunStream } from '../http/endpoint.ts';
import type { Context } from '../http/context.ts';
import type { Feeds, Taken } from './feeds.ts';
import type { Framing } from './framing.ts';
import { sendHead } from '../http/head.ts';
import { ndjson, prefersNdjson } from './ndjson.ts';
import { sse } from './sse.ts';

/** No proxy is to keep, change or hold back a stream. */
const streamHeaders = ['Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no'];

/** Headers wait this long for the first event, so that both leave in one packet. */
const headDelayMs = 100;

/** A reader that has taken nothing of what waits for it in this time is gone, whatever its connection says. */
const stalledMs = 5 * 60_000;

/** What the application emits when its streams are to end; their readers resume elsewhere. */
export const drain = 'drain';

export interface EventsOptions {
  readonly config: Pick<RequestConfig, 'STREAM_COMMENT_SECONDS'>;
  readonly feeds: Feeds;
  readonly log: Log;
  /** Ends the following of the run. */
  readonly abort: () => void;
}

/**
 * Answers with the events of a run, as fast as the caller reads them. The stream ends after the last event; it ends
 * without a terminal one when the process drains or the log cannot be read further, which means: resume.
 */
export async function writeEvents(ctx: Context, { follow, call }: RunStream, options: EventsOptions): Promise<void> {
  const framing = prefersNdjson(ctx.req.headers.accept) ? ndjson : sse;
  using pipe = openPipe(ctx, framing, options);
  using reader = options.feeds.open(follow, framing, call);
  try {
    for (let taken = await reader.next(); taken && !pipe.isOver(); taken = await reader.next()) await pipe.write(taken);
  } catch (error) {
    if (!ctx.headerSent) throw error;
    if (!pipe.isOver())
      options.log.warn({ err: error, request_id: ctx.state.requestId, run_id: follow.runId }, 'stream cut');
  }
  pipe.end();
}

interface Pipe extends Disposable {
  /** Resolves when the caller has read so far that more may be handed to its socket. */
  readonly write: (taken: Taken) => Promise<void> | undefined;
  readonly end: () => void;
  /** Whether nothing more is to be written. */
  readonly isOver: () => boolean;
}

function openPipe(ctx: Context, { type, comment: idle }: Framing, { config, abort }: EventsOptions): Pipe {
  const { res, app } = ctx;
  let drained = false;
  let isWithinEvent = false;
  const begin = (): void => {
    if (!res.headersSent) sendHead(ctx, 200, ['Content-Type', type, ...streamHeaders]);
  };
  const onDrain = (): void => {
    drained = true;
    abort();
  };
  app.once(drain, onDrain);
  const head = setTimeout(() => {
    begin();
    res.flushHeaders();
  }, headDelayMs);
  const comment = setInterval(() => {
    begin();
    if (idle !== '' && !isWithinEvent && !res.writableNeedDrain) res.write(idle);
  }, config.STREAM_COMMENT_SECONDS * 1000);

  return {
    write: ({ bytes, isWhole }) => {
      comment.refresh();
      begin();
      isWithinEvent = !isWhole;
      return res.write(bytes) ? undefined : untilWritable(res);
    },
    end: () => {
      begin();
      res.end();
    },
    isOver: () => drained || res.destroyed,
    [Symbol.dispose]: () => {
      clearTimeout(head);
      clearInterval(comment);
      app.off(drain, onDrain);
    },
  };
}

/** Resolves when the caller has read on, or is gone. */
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
