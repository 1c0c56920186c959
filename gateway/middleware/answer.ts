import { within } from '@agent-workflow/protos/call';
import type { Ask, Endpoint, Services } from '../endpoints/endpoint.ts';
import { writeData, writeJson } from '../replies/envelope.ts';
import { writeEvents } from '../replies/events.ts';
import type { Context, Middleware } from './context.ts';

/** The last step of every row: calls its handler and answers with what it gives. */
export function answer({ handle, answer: kind }: Endpoint, services: Services): Middleware {
  return async (ctx) => {
    const life = lifeOf(ctx, services.config.CALL_TIMEOUT_MS);
    const reply = await handle(askOf(ctx, life), services);
    if (typeof reply !== 'string') await writeEvents(ctx, reply, { ...services, abort: life.abort });
    else if (kind === 'bare') writeJson(ctx, 200, reply);
    else writeData(ctx, reply);
  };
}

type Life = Pick<Ask, 'call'> & { readonly abort: () => void };

function askOf({ state }: Context, { call }: Life): Ask {
  const { params, input, requestId, principal } = state;
  return { params, input, requestId, owner: principal.owner, user: principal.user, call };
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
