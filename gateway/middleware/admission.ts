import { createByteBudget } from '@agent-workflow/runtime/budget';
import { unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import type { Context, Middleware, Room } from '../http/context.ts';

export interface AdmissionOptions {
  /** What bodies and large replies may come to together, in bytes. */
  readonly limit: number;
  /** The largest body, in bytes. */
  readonly maxBody: number;
  /** Who asks: one of them holds at most half, so that it leaves room for the others. */
  readonly callerOf: (ctx: Context) => string;
  /** How long the caller of a large reply may take nothing of it before its connection is closed, in milliseconds. */
  readonly stalledMs?: number;
}

/** Bounds the bytes that the edge holds of requests and replies. Each counts until the reply has left. */
export interface Admission {
  /** Refuses a body for which there is no room. It stands before the body is read: what is refused costs nothing. */
  readonly body: Middleware;
  /**
   * Counts a reply that is large, by its size.
   * @throws Unavailable when there is no room for it and it may be refused: what has changed nothing can be asked for again.
   */
  readonly reply: (ctx: Context, size: number, mayRefuse: boolean) => void;
}

/** Replies that are shorter count for nothing. */
const largeReply = 64 * 1024;

export function createAdmission({ limit, maxBody, callerOf, stalledMs = 30_000 }: AdmissionOptions): Admission {
  const budget = createByteBudget(limit);
  const byCaller = new Map<string, number>();

  const count = (caller: string, bytes: number): void => {
    const held = (byCaller.get(caller) ?? 0) + bytes;
    if (held > 0) byCaller.set(caller, held);
    else byCaller.delete(caller);
  };

  const hold = (ctx: Context, bytes: number, mayRefuse: boolean): Room => {
    const caller = callerOf(ctx);
    const before = byCaller.get(caller) ?? 0;
    const isTooMuch = before > 0 && before + bytes > limit / 2;
    const taken = mayRefuse ? (isTooMuch ? undefined : budget.tryTake(bytes)) : budget.force(bytes);
    if (!taken) throw overfull();
    let room = taken;
    let held = bytes;
    count(caller, bytes);
    whenClosed(ctx, () => {
      room[Symbol.dispose]();
      count(caller, -held);
      held = 0;
    });
    return {
      resize: (actual) => {
        if (held === 0 || actual === held) return;
        const assumed = room;
        room = budget.force(actual);
        assumed[Symbol.dispose]();
        count(caller, actual - held);
        held = actual;
      },
    };
  };

  return {
    body: (ctx, next) => {
      const bytes = bytesOfBody(ctx, maxBody);
      if (bytes > 0) ctx.state.bodyRoom = hold(ctx, bytes, true);
      return next();
    },
    reply: (ctx, size, mayRefuse) => {
      if (size < largeReply) return;
      hold(ctx, size, mayRefuse);
      // Node destroys the connection then, unless some of the reply has left since.
      ctx.res.setTimeout(stalledMs);
    },
  };
}

/** Bodies whose length is told only by their end are mostly short: each counts for this share of the largest until it is read. */
const shareOfLargest = 4;

/** What a body comes to, as far as its headers say. */
function bytesOfBody({ req: { headers } }: Context, maxBody: number): number {
  const assumed = Math.ceil(maxBody / shareOfLargest);
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : assumed;
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' ? Math.min(Number(length), maxBody) : assumed;
}

function whenClosed({ res }: Context, act: () => void): void {
  if (res.closed) act();
  else res.once('close', act);
}

const overfull = (): ServiceError => unavailable('the service holds as many bytes of requests and replies as it may');
