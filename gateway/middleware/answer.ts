import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { Ask, Endpoint } from '../http/endpoint.ts';
import type { RequestConfig } from '../http/settings.ts';
import { writeData, writeDataParts, writeJson } from '../http/envelope.ts';
import { writeEvents } from '../replies/events.ts';
import { sizeOf } from '../http/json.ts';
import type { Feeds } from '../replies/feeds.ts';
import type { Admission } from './admission.ts';
import type { Context, Middleware } from '../http/context.ts';
import { idMaker, readOnce, type DoOnce, type Once } from '../idempotency/index.ts';

export interface AnswerOptions {
  readonly config: Pick<RequestConfig, 'CALL_TIMEOUT_MS' | 'STREAM_COMMENT_SECONDS'>;
  readonly log: Log;
  readonly doOnce: DoOnce;
  /** What streams read their runs by. */
  readonly feeds: Feeds;
  /** Bounds the bytes of large replies. */
  readonly admission: Admission;
}

/** The last step of every row: calls its handler and answers with what it gives. */
export function answer<Services>(
  { handle, answer: kind, access, method, status, secret, startsRun = false }: Endpoint<Services>,
  services: Services,
  { config, log, doOnce, feeds, admission }: AnswerOptions,
): Middleware {
  const changes = method !== 'GET' && access?.action !== 'read';
  const once = changes && !secret;
  return async (ctx) => {
    const life = lifeOf(ctx, config.CALL_TIMEOUT_MS);
    const keyed = once ? readOnce(ctx, startsRun) : undefined;
    const ask = askOf(ctx, life, keyed);
    const reply = await (keyed
      ? doOnce(ctx, keyed, life.call(), (begun) => handle(Object.assign(ask, begun), services))
      : handle(ask, services));
    if (typeof reply === 'object' && 'follow' in reply) {
      await writeEvents(ctx, reply, { config, log, feeds, abort: life.abort });
      return;
    }
    admission.reply(ctx, typeof reply === 'string' ? reply.length : sizeOf(reply), !changes);
    if (typeof reply !== 'string') writeDataParts(ctx, reply, status);
    else if (kind === 'bare') writeJson(ctx, status, reply);
    else writeData(ctx, reply, status);
  };
}

type Life = Pick<Ask, 'call'> & { readonly abort: () => void };

function askOf({ state, req, res, request }: Context, { call }: Life, once: Once | undefined): Ask {
  const { params, input, requestId, principal } = state;
  const { owner, user } = principal;
  const given = req.headers['last-event-id'];
  const ask: { -readonly [name in keyof Ask]: Ask[name] } = {
    params,
    input,
    requestId,
    owner,
    user,
    call,
    once: once ? { onceKey: once.key } : {},
    at: new Date(),
    wasDone: false,
    accepted: () => Promise.resolve(),
    releaseInput: () => {
      ask.input = undefined;
      state.input = undefined;
      state.body = undefined;
      Reflect.deleteProperty(request, 'body');
      state.bodyRoom?.resize(0);
    },
    newId: idMaker(once),
    lastEventId: typeof given === 'string' && given !== '' ? given : undefined,
    addReplyMetadata: (entries) => {
      state.replyMetadata = { ...state.replyMetadata, ...entries };
    },
    whenGone: (act) => {
      res.once('close', () => {
        if (!res.writableFinished) act();
      });
    },
  };
  return ask;
}

/** The calls of one request: they end when its caller goes away. */
function lifeOf({ res }: Context, callTimeoutMs: number): Life {
  let made: AbortController | undefined;
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
    call: (ms = callTimeoutMs) => within(ms, controller().signal),
    abort: () => {
      controller().abort();
    },
  };
}
