import { retry } from '@agent-workflow/kit/retry';
import { mayReconnect } from './failure.ts';

/** Something that is opened and closed, by either side. */
export interface Opened {
  /** Takes the function that is called when it is closed. */
  readonly onClosed: (closed: () => void) => void;
  readonly close: () => Promise<void>;
}

/** A connection that is made when it is needed, and again after it was lost. */
export interface Connection<T extends Opened> {
  /** The connection that stands; all who ask while it is made get the same. @throws what the last attempt to connect threw. */
  readonly get: () => Promise<T>;
  /** Does work on one: it is not closed before the work has ended, also when it is dropped meanwhile. */
  readonly use: <R>(opened: T, work: () => Promise<R>) => Promise<R>;
  /** Gives up one that turned out to be lost; nothing happens when another has taken its place. */
  readonly drop: (lost: T) => void;
  /** Closes the one that stands; no other is made. */
  readonly close: () => Promise<void>;
}

/** Waits between attempts to connect: a call that cannot reach the server fails within seconds, and the next call tries again. */
const attempts = { firstMs: 200, maxMs: 1000, maxAttempts: 3 };

/** It is lost: a failure to close it says nothing new. */
function closeLost(one: Opened): void {
  one.close().catch(() => undefined);
}

export function createConnection<T extends Opened>(open: () => Promise<T>): Connection<T> {
  let making: Promise<T> | undefined;
  let opened: T | undefined;
  let closed = false;
  /** How much work is under way on each. */
  const used = new Map<T, number>();
  const dropped = new Set<T>();

  const endUse = (one: T): void => {
    const left = (used.get(one) ?? 1) - 1;
    if (left > 0) used.set(one, left);
    else used.delete(one);
    if (left === 0 && dropped.delete(one)) closeLost(one);
  };

  const forget = (lost: T): void => {
    if (opened !== lost) return;
    opened = undefined;
    making = undefined;
  };

  const connect = async (): Promise<T> => {
    try {
      const made = await retry(open, { ...attempts, mayHelp: (error) => !closed && mayReconnect(error) });
      made.onClosed(() => forget(made));
      opened = made;
      return made;
    } catch (error) {
      making = undefined;
      throw error;
    }
  };

  return {
    get: async () => {
      if (closed) throw Object.assign(new Error('the connection was closed'), { code: 'CLOSED' });
      making ??= connect();
      return making;
    },
    use: async (one, work) => {
      used.set(one, (used.get(one) ?? 0) + 1);
      try {
        return await work();
      } finally {
        endUse(one);
      }
    },
    drop: (lost) => {
      if (opened !== lost) return;
      forget(lost);
      if (used.has(lost)) dropped.add(lost);
      else closeLost(lost);
    },
    close: async () => {
      closed = true;
      const last = await making?.catch(() => undefined);
      making = undefined;
      opened = undefined;
      for (const one of dropped) closeLost(one);
      dropped.clear();
      await last?.close();
    },
  };
}
