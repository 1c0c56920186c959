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
export class ArrivalWatch implements Disposable {
  readonly #ctx: Context;
  readonly #pace: Pace;
  readonly #onLate: (refusal: ServiceError) => void;
  readonly #late: NodeJS.Timeout;
  /** The bytes of the connection before the window, which is made of the time in which the body is read, and what is left of that time. */
  #from: number;
  #leftMs: number;
  #reading: { readonly timer: NodeJS.Timeout; readonly since: number } | undefined;

  constructor(ctx: Context, { totalMs, pace }: ArrivalLimits, onLate: (refusal: ServiceError) => void) {
    this.#ctx = ctx;
    this.#pace = pace;
    this.#onLate = onLate;
    this.#from = ctx.req.socket.bytesRead;
    this.#leftMs = pace.windowMs;
    this.#late = setTimeout(() => {
      this.#refuse(`the body did not arrive within ${String(totalMs / 1000)} s`);
    }, totalMs);
    ctx.req.on('pause', this.#turn).on('resume', this.#turn).once('end', this.#end);
    this.#read();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#late);
    this.#end();
  }

  #refuse(message: string): void {
    this[Symbol.dispose]();
    const { req, res, state } = this.#ctx;
    state.headers.push('Connection', 'close');
    res.once('finish', () => req.destroy());
    this.#onLate(new HttpRefusal(408, message));
  }

  #read(): void {
    this.#reading ??= { timer: setTimeout(() => this.#check(), this.#leftMs), since: performance.now() };
  }

  readonly #rest = (): void => {
    if (!this.#reading) return;
    clearTimeout(this.#reading.timer);
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#reading.since));
    this.#reading = undefined;
  };

  /** `resume` is emitted a moment late, when the stream may be paused again. */
  readonly #turn = (): void => (this.#ctx.req.isPaused() ? this.#rest() : this.#read());

  readonly #end = (): void => {
    this.#rest();
    this.#ctx.req.off('pause', this.#turn).off('resume', this.#turn).off('end', this.#end);
  };

  #check(): void {
    this.#reading = undefined;
    const { bytesRead } = this.#ctx.req.socket;
    const { bytesPerSecond, windowMs } = this.#pace;
    if (bytesRead - this.#from < (bytesPerSecond * windowMs) / 1000) {
      const least = `less than ${String(bytesPerSecond)} bytes a second over ${String(windowMs / 1000)} s`;
      this.#refuse(`the body arrived too slowly: ${least}`);
      return;
    }
    this.#from = bytesRead;
    this.#leftMs = windowMs;
    this.#read();
  }
}
