/** How long a chat lasts: until its reader has left and what was being sent by then is sent. */
interface Lifetime {
  /** Fires when the chat ends. */
  readonly signal: AbortSignal;
  /** Does work that goes on when the reader leaves meanwhile. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  /** The reader leaves: the chat ends now, or after the last work that is under way. */
  readonly leave: () => void;
  /** The reader comes back. @returns whether the chat is still there. */
  readonly rejoin: () => boolean;
  /** Why the last work failed that ended while the reader was away, given once; `undefined` when none failed. */
  readonly takeMissed: () => unknown;
  /** It ends now, and with it all that is under way. */
  readonly end: () => void;
}

export function createLifetime(): Lifetime {
  const controller = new AbortController();
  let works = 0;
  let isLeft = false;
  let missed: unknown;
  const settle = (): void => {
    if (isLeft && works === 0) controller.abort();
  };
  return {
    signal: controller.signal,
    during: async (work) => {
      works++;
      try {
        return await work();
      } catch (error) {
        if (isLeft && !controller.signal.aborted) missed = error;
        throw error;
      } finally {
        works--;
        settle();
      }
    },
    leave: () => {
      isLeft = true;
      settle();
    },
    rejoin: () => {
      isLeft = false;
      return !controller.signal.aborted;
    },
    takeMissed: () => {
      const error = missed;
      missed = undefined;
      return error;
    },
    end: () => controller.abort(),
  };
}
