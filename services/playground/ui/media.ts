import { useEffect, useState } from 'preact/hooks';

/** Whether the page is as narrow as a phone: one pane at a time. */
export const useNarrow = (): boolean => useMedia('(max-width: 860px)');

/** Whether a media query holds, now and whenever that changes. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const read = (): void => setHolds(list.matches);
    read();
    list.addEventListener('change', read);
    return () => list.removeEventListener('change', read);
  }, [query]);
  return holds;
}
