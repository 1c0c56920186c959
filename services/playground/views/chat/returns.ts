import { useEffect } from 'preact/hooks';
import type { Chat } from './chat.ts';

/** How long after the reader has come back a thread is not read again, in milliseconds. */
const returnMs = 2000;

/** Reads the thread again when the reader comes back to the tab: other tabs may have gone on with it. */
export function useReturns(chat: Chat): void {
  useEffect(() => {
    let caughtUpAt = performance.now();
    const catchUp = (): void => {
      if (document.visibilityState !== 'visible' || performance.now() - caughtUpAt < returnMs) return;
      caughtUpAt = performance.now();
      // A service that is unavailable now is asked when the reader comes back again.
      chat.catchUp().catch(() => undefined);
    };
    addEventListener('focus', catchUp);
    document.addEventListener('visibilitychange', catchUp);
    return () => {
      removeEventListener('focus', catchUp);
      document.removeEventListener('visibilitychange', catchUp);
    };
  }, [chat]);
}
