import type { ServiceError } from '@agent-workflow/kit/errors';
import type { Context } from './context.ts';
import { HttpRefusal } from './http-refusal.ts';

/** The slowest that a body may arrive. */
export interface Pace {
  readonly bytesPerSecond: number;
  /** The time over which this is averaged, in milliseconds. */
  readonly windowMs: number;
}

/** What a caller must keep up with, or be refused: otherwise a few slow ones would hold all the memory that there is for bodies. */
export const leastPace: Pace = { bytesPerSecond: 1024, windowMs: 30_000 };

export interface ArrivalLimits {
  /** How long a body may take from its first byte to its last, in milliseconds. */
  readonly totalMs: number;
  readonly pace: Pace;
}

/**
 * Watches how a body arrives until it is disposed of. `onLate` gets a refusal (408) once, when the body takes too long or arrives too
 * slowly; the time in which we do not read, because its store is slow, is not the sender's. The connection ends with the reply then:
 * the rest is not waited for.
 */
export function watchArrival(
  ctx: Context,
  { totalMs, pace }: ArrivalLimits,
  onLate: (refusal: ServiceError) => void,
): Disposable {
  const { req, res } = ctx;
  const end = (): void => {
    clearTimeout(late);
    watch[Symbol.dispose]();
  };
  const refuse = (message: string): void => {
    end();
    ctx.state.headers.push('Connection', 'close');
    res.once('finish', () => req.destroy());
    onLate(new HttpRefusal(408, message));
  };
  const late = setTimeout(() => {
    refuse(`the body did not arrive within ${String(totalMs / 1000)} s`);
  }, totalMs);
  const watch = watchPace(ctx, pace, () => {
    const { bytesPerSecond, windowMs } = pace;
    const least = `less than ${String(bytesPerSecond)} bytes a second over ${String(windowMs / 1000)} s`;
    refuse(`the body arrived too slowly: ${least}`);
  });
  return { [Symbol.dispose]: end };
}

/** Calls `onSlow` when too little arrives in a window. A window is made of the time in which the body is read. */
function watchPace({ req }: Context, { bytesPerSecond, windowMs }: Pace, onSlow: () => void): Disposable {
  const least = (bytesPerSecond * windowMs) / 1000;
  let window = { from: req.socket.bytesRead, leftMs: windowMs };
  let reading: { readonly timer: NodeJS.Timeout; readonly since: number } | undefined;

  const rest = (): void => {
    if (!reading) return;
    clearTimeout(reading.timer);
    window.leftMs = Math.max(0, window.leftMs - (performance.now() - reading.since));
    reading = undefined;
  };
  const read = (): void => {
    reading ??= { timer: setTimeout(check, window.leftMs), since: performance.now() };
  };
  const check = (): void => {
    reading = undefined;
    const { bytesRead } = req.socket;
    if (bytesRead - window.from < least) {
      onSlow();
      return;
    }
    window = { from: bytesRead, leftMs: windowMs };
    read();
  };
  // `resume` is emitted a moment late, when the stream may be paused again.
  const turn = (): void => (req.isPaused() ? rest() : read());
  const end = (): void => {
    rest();
    req.off('pause', turn).off('resume', turn).off('end', end);
  };
  req.on('pause', turn).on('resume', turn).once('end', end);
  read();
  return { [Symbol.dispose]: end };
}
