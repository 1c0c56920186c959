import { createByteBudget } from '@agent-workflow/runtime/budget';
import { unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import type { Context, Reservation } from '../http/context.ts';

interface AdmissionOptions {
  /** The bound on the bytes of all bodies and large replies together. */
  readonly limit: number;
  /** The largest body, in bytes. */
  readonly maxBody: number;
  /** The caller of a request: one caller reserves at most half of `limit`. */
  readonly callerOf: (ctx: Context) => string;
  /** The connection of a caller that reads nothing of a large reply for this time is closed. In milliseconds. */
  readonly stalledMs?: number;
}

/** Bounds the bytes of requests and replies in this process. Each counts until the reply has been sent. */
export interface Admission {
  /** Refuses a body that would exceed the bound. It runs before the body is read. @throws Unavailable */
  readonly reserveBody: (ctx: Context) => void;
  /** Counts what a request holds beside its body. @throws Unavailable when it would exceed the bound. */
  readonly reserve: (ctx: Context, bytes: number) => Reservation;
  /**
   * Counts the size of a large reply.
   * @throws Unavailable when it would exceed the bound and `mayRefuse` is set: a request that changed nothing can be repeated.
   */
  readonly reply: (ctx: Context, size: number, mayRefuse: boolean) => void;
}

/** Shorter replies are not counted. */
const largeReply = 64 * 1024;

export function createAdmission({ limit, maxBody, callerOf, stalledMs = 30_000 }: AdmissionOptions): Admission {
  const budget = createByteBudget(limit);
  const byCaller = new Map<string, number>();

  const count = (caller: string, bytes: number): void => {
    const total = (byCaller.get(caller) ?? 0) + bytes;
    if (total > 0) byCaller.set(caller, total);
    else byCaller.delete(caller);
  };

  const reserve = (ctx: Context, bytes: number, mayRefuse: boolean): Reservation => {
    const caller = callerOf(ctx);
    const before = byCaller.get(caller) ?? 0;
    const exceedsShare = before > 0 && before + bytes > limit / 2;
    const granted = mayRefuse ? (exceedsShare ? undefined : budget.tryTake(bytes)) : budget.force(bytes);
    if (!granted) {
      ctx.state.isOverload = true;
      throw boundReached();
    }
    let reservation = granted;
    let reserved = bytes;
    count(caller, bytes);
    whenClosed(ctx, () => {
      reservation[Symbol.dispose]();
      count(caller, -reserved);
      reserved = 0;
    });
    return {
      resize: (actual) => {
        if (reserved === 0 || actual === reserved) return;
        const assumed = reservation;
        reservation = budget.force(actual);
        assumed[Symbol.dispose]();
        count(caller, actual - reserved);
        reserved = actual;
      },
    };
  };

  return {
    reserveBody: (ctx) => {
      const bytes = bytesOfBody(ctx, maxBody);
      if (bytes > 0) ctx.state.bodyReservation = reserve(ctx, bytes, true);
    },
    reserve: (ctx, bytes) => reserve(ctx, bytes, true),
    reply: (ctx, size, mayRefuse) => {
      if (size < largeReply) return;
      reserve(ctx, size, mayRefuse);
      // Node destroys the connection when none of the reply was sent in this time.
      ctx.res.setTimeout(stalledMs);
    },
  };
}

/** A body of unknown length is mostly short: it counts as this fraction of the largest body until it has been read. */
const shareOfLargest = 4;

/** The size of a body by its headers. */
function bytesOfBody({ req: { headers } }: Context, maxBody: number): number {
  const assumed = Math.ceil(maxBody / shareOfLargest);
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : assumed;
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding.toLowerCase() === 'identity' ? Math.min(Number(length), maxBody) : assumed;
}

function whenClosed({ res }: Context, act: () => void): void {
  if (res.closed) act();
  else res.once('close', act);
}

const boundReached = (): ServiceError =>
  unavailable('the service has reached its bound on the bytes of requests and replies; try again later');
