import { useEffect, useRef } from 'preact/hooks';

/** Calls `again` every `everyMs` milliseconds while the component is there and the page is in sight, and when it comes back into sight. */
export function useRefresh(again: () => void, everyMs: number): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    const refresh = (): void => {
      if (!document.hidden) latest.current();
    };
    const timer = setInterval(refresh, everyMs);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [everyMs]);
}
