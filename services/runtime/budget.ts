import { getHeapStatistics } from 'node:v8';
import { integer, type Settings, type Values } from '@agent-workflow/kit/env';
import { memoryBudget, memoryBudgetSettings } from './memory-budget.ts';

/** How much a process holds at once of what others send it. */
export const budgetSettings = {
  ...memoryBudgetSettings,
  IN_FLIGHT_MB: integer(
    undefined,
    'Bytes of requests and of large replies that the edge holds at once, and bytes of contexts that the runs of a worker hold at once, each in MiB: beyond it requests are refused with 503, and runs wait; unset, a sixteenth of `MEMORY_BUDGET_MB`, or of the heap where that is smaller',
    { min: 1, max: 1_048_576 },
  ),
} satisfies Settings;

const bytesPerMiB = 1024 * 1024;
/** What is JSON on its way in is held several times over: as bytes, as text, parsed, and as what is written of it. */
const shareInFlight = 16;

/** The bytes that the setting allows. */
export const inFlightBytes = ({ IN_FLIGHT_MB: mebibytes, ...values }: Values<typeof budgetSettings>): number =>
  mebibytes === undefined
    ? Math.min(memoryBudget(values), getHeapStatistics().heap_size_limit) / shareInFlight
    : mebibytes * bytesPerMiB;

/** A number of bytes that may be held at once. What is larger than all of it is let in alone. */
export interface ByteBudget {
  /** Takes the bytes until what is given is disposed of; `undefined` when there is no room for them, or others wait. */
  readonly tryTake: (bytes: number) => Disposable | undefined;
  /** Takes the bytes when there is room, in the order of the calls. @throws the signal's reason when it fires first. */
  readonly take: (bytes: number, signal: AbortSignal) => Promise<Disposable>;
  /** Takes the bytes whether there is room or not: for what is held already. */
  readonly force: (bytes: number) => Disposable;
  /** Whether there is room for nothing more. */
  readonly isFull: () => boolean;
}

export function createByteBudget(limit: number): ByteBudget {
  let held = 0;
  const waiting = new Map<symbol, { readonly bytes: number; readonly admit: () => void }>();
  const fits = (bytes: number): boolean => held === 0 || held + bytes <= limit;

  const admitNext = (): void => {
    for (const [key, next] of waiting) {
      if (!fits(next.bytes)) return;
      waiting.delete(key);
      next.admit();
    }
  };

  const force = (bytes: number): Disposable => {
    held += bytes;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        held -= bytes;
        admitNext();
      },
    };
  };
  const tryTake = (bytes: number): Disposable | undefined =>
    waiting.size === 0 && fits(bytes) ? force(bytes) : undefined;

  return {
    tryTake,
    force,
    isFull: () => held >= limit || waiting.size > 0,
    take: async (bytes, signal) => {
      signal.throwIfAborted();
      const taken = tryTake(bytes);
      if (taken) return taken;
      const { promise, resolve, reject } = Promise.withResolvers<Disposable>();
      const key = Symbol('waiting');
      const leave = (): void => {
        waiting.delete(key);
        reject(signal.reason as Error);
        // What comes after it may fit.
        admitNext();
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.set(key, {
        bytes,
        admit: () => {
          signal.removeEventListener('abort', leave);
          resolve(force(bytes));
        },
      });
      return promise;
    },
  };
}
