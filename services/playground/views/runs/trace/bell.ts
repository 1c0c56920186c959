/** Lets one wait for what others say has happened. */
export interface Bell {
  readonly ring: () => void;
  /** Resolves when it has rung since the last wait, after `ms` milliseconds, or when `signal` is aborted. */
  readonly rung: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createBell(): Bell {
  let hasRung = false;
  let wake: (() => void) | undefined;
  const ring = (): void => {
    hasRung = true;
    wake?.();
  };
  const rung = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (!hasRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        signal.addEventListener('abort', wake, { once: true });
      });
    }
    hasRung = false;
    wake = undefined;
  };
  return { ring, rung };
}
