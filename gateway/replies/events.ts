import type { ServerResponse } from 'node:http';
import type { Log } from '@agent-workflow/kit/log';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { GatewayConfig } from '../config.ts';
import type { RunStream } from '../endpoints/endpoint.ts';
import type { Context } from '../middleware/context.ts';
import { sendHead } from './head.ts';
import { ndjsonType, prefersNdjson, toNdjson } from './ndjson.ts';
import { sseComment, sseType, toSse } from './sse.ts';

/** No proxy is to keep, change or hold back a stream. */
const streamHeaders = ['Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no'];

/** Headers wait this long for the first event, so that both leave in one packet. */
const headDelayMs = 100;

/** A reader that has taken nothing of what waits for it in this time is gone, whatever its connection says. */
const stalledMs = 5 * 60_000;

/** What the application emits when its streams are to end; their readers resume elsewhere. */
export const drain = 'drain';

export interface EventsOptions {
  readonly config: Pick<GatewayConfig, 'STREAM_COMMENT_SECONDS'>;
  readonly log: Log;
  /** Ends the following of the run. */
  readonly abort: () => void;
}

/**
 * Answers with the events of a run, as fast as the caller reads them. The stream ends after the last event; it ends
 * without a terminal one when the process drains or the log cannot be read further, which means: resume.
 */
export async function writeEvents(ctx: Context, { runId, events }: RunStream, options: EventsOptions): Promise<void> {
  const ndjson = prefersNdjson(ctx.req.headers.accept);
  const encode = ndjson ? toNdjson : toSse;
  using pipe = openPipe(ctx, { type: ndjson ? ndjsonType : sseType, idle: ndjson ? '' : sseComment, ...options });
  try {
    for await (const batch of events) {
      for (const part of inParts(batch.events)) {
        await pipe.write(encode(runId, part));
        if (pipe.isOver()) break;
      }
      if (pipe.isOver()) break;
    }
  } catch (error) {
    if (!ctx.headerSent) throw error;
    if (!pipe.isOver()) options.log.warn({ err: error, request_id: ctx.state.requestId, run_id: runId }, 'stream cut');
  }
  pipe.end();
}

/** What is encoded and handed to the socket at once: a reader that stands still keeps that much of it, several times over. */
const partBytes = 64 * 1024;

/** Events in parts of about that weight; a heavier one is a part of its own. */
function* inParts(events: readonly RunEvent[]): Generator<readonly RunEvent[]> {
  let start = 0;
  let bytes = 0;
  for (const [index, { json }] of events.entries()) {
    if (index > start && bytes + json.byteLength > partBytes) {
      yield events.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += json.byteLength;
  }
  yield start === 0 ? events : events.slice(start);
}

interface Pipe extends Disposable {
  readonly write: (text: string) => Promise<void> | undefined;
  readonly end: () => void;
  /** Whether nothing more is to be written. */
  readonly isOver: () => boolean;
}

type PipeOptions = EventsOptions & {
  readonly type: string;
  /** Written when there was nothing to write for a while; empty for a framing without comments. */
  readonly idle: string;
};

function openPipe(ctx: Context, { type, idle, config, abort }: PipeOptions): Pipe {
  const { res, app } = ctx;
  let drained = false;
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
    if (idle !== '' && !res.writableNeedDrain) res.write(idle);
  }, config.STREAM_COMMENT_SECONDS * 1000);

  return {
    write: (text) => {
      comment.refresh();
      begin();
      return res.write(text) ? undefined : untilWritable(res);
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
