import type { Log } from '@agent-workflow/kit/log';
import { within, type Replicas } from '@agent-workflow/protos/call';
import type { Context } from '../http/context.ts';
import { changes, takesIdempotencyKey, type Endpoint, type EndpointRequest } from '../http/endpoint.ts';
import { writeData, writeDataParts, writeJson } from '../http/reply.ts';
import { receiveFile, type FormLimits } from '../http/form.ts';
import { sizeOf } from '../http/json.ts';
import type { RequestConfig } from '../http/settings.ts';
import { idMaker, readIdempotencyKey, type IdempotentRequest, type RunIdempotently } from '../idempotency/index.ts';
import { writeContent } from '../replies/content.ts';
import { writeEvents } from '../replies/events.ts';
import type { Feeds } from '../replies/feeds.ts';
import type { Admission } from './admission.ts';

export interface AnswerOptions {
  readonly config: Pick<RequestConfig, 'CALL_TIMEOUT_MS' | 'STREAM_COMMENT_SECONDS'>;
  readonly log: Log;
  readonly runIdempotently: RunIdempotently;
  /** Streams read the events of their runs from these. */
  readonly feeds: Feeds;
  /** Bounds the bytes of large replies. */
  readonly admission: Admission;
  /** Of forms with a file. */
  readonly forms: FormLimits;
}

/** The last step of an endpoint: calls its handler and writes the reply. */
export function answerer<Services>(
  row: Endpoint<Services>,
  services: Services,
  { config, log, runIdempotently, feeds, admission, forms }: AnswerOptions,
): (ctx: Context) => Promise<void> {
  const { handle, answer: kind, status, startsRun = false, takesLastEventId = false } = row;
  const takesKey = takesIdempotencyKey(row);
  const isRead = !changes(row);
  return async (ctx) => {
    const calls = callsOf(ctx, config.CALL_TIMEOUT_MS);
    const idempotent = takesKey ? readIdempotencyKey(ctx, startsRun) : undefined;
    const request = toEndpointRequest(ctx, calls, { idempotent, takesLastEventId, forms });
    const reply = await (idempotent
      ? runIdempotently(
          ctx,
          idempotent,
          () => calls.call(),
          (attempt) => handle(Object.assign(request, attempt), services),
        )
      : handle(request, services));
    // Not awaited: the request and its calls need not stand in memory as long as the stream.
    if (typeof reply === 'object' && 'follow' in reply)
      return writeEvents(ctx, reply, { config, log, feeds, abort: calls.abort });
    if (typeof reply === 'object' && 'open' in reply) {
      await writeContent(ctx, reply);
      return;
    }
    admission.reply(ctx, typeof reply === 'string' ? reply.length : sizeOf(reply), isRead);
    if (typeof reply !== 'string') writeDataParts(ctx, reply, status);
    else if (kind === 'bare') writeJson(ctx, status, reply);
    else writeData(ctx, reply, status);
  };
}

/** Makes the calls to services of one request; `abort` ends them. */
type Calls = Pick<EndpointRequest, 'call'> & { readonly abort: () => void };

/** What the headers of a request mean to its row, and how a form is read. */
interface Reading {
  readonly idempotent: IdempotentRequest | undefined;
  readonly takesLastEventId: boolean;
  readonly forms: FormLimits;
}

function toEndpointRequest(
  ctx: Context,
  { call }: Calls,
  { idempotent, takesLastEventId, forms }: Reading,
): EndpointRequest {
  const { state, req, res, request: koaRequest } = ctx;
  const { params, input, requestId, principal, agent } = state;
  const { owner, user } = principal;
  const lastEventId = takesLastEventId ? req.headers['last-event-id'] : undefined;
  const request: { -readonly [name in keyof EndpointRequest]: EndpointRequest[name] } = {
    params,
    input,
    requestId,
    owner,
    user,
    agent,
    call,
    idempotency: idempotent ? { onceKey: idempotent.key } : {},
    at: new Date(),
    isRepeated: false,
    markAccepted: () => Promise.resolve(),
    releaseInput: () => {
      request.input = undefined;
      state.input = undefined;
      state.body = undefined;
      Reflect.deleteProperty(koaRequest, 'body');
      state.bodyReservation?.resize(0);
    },
    newId: idMaker(idempotent),
    lastEventId: typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : undefined,
    addReplyMetadata: (entries) => {
      state.replyMetadata = { ...state.replyMetadata, ...entries };
    },
    receiveFile: (take) => receiveFile(ctx, forms, take),
    onDisconnect: (act) => {
      res.once('close', () => {
        if (!res.writableFinished) act();
      });
    },
  };
  return request;
}

/** The signal is made with the first call: many requests call no service. */
function callsOf({ res }: Context, callTimeoutMs: number): Calls {
  let made: AbortController | undefined;
  const replicas: Replicas = new Map();
  const controller = (): AbortController => {
    if (made) return made;
    const controller = new AbortController();
    res.once('close', () => {
      if (!res.writableFinished) controller.abort();
    });
    made = controller;
    return controller;
  };
  return {
    call: (ms = callTimeoutMs) => ({ ...within(ms, controller().signal), replicas }),
    abort: () => {
      controller().abort();
    },
  };
}
