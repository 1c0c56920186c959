import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { mergeFirstPage } from './live-merge.ts';
import { usePages, type PagedList, type Pages } from './pages.ts';
import type { ListPage } from './read-on.ts';

/** A list that follows what happens. */
export interface LiveList<T> extends PagedList<T> {
  /** How many items are there that are not shown yet, because somebody reads. */
  readonly waiting: ReadonlySignal<number>;
  /** Shows them. */
  readonly showNew: () => void;
}

interface LiveListOptions<T> {
  /** Reads a page, the first without a cursor. `isAgain`: what is shown of the list is compared with its beginning. */
  readonly load: (cursor: string | undefined, signal: AbortSignal, isAgain: boolean) => Promise<ListPage<T>>;
  /** Another of them is another list. */
  readonly inputs: readonly unknown[];
  readonly keyOf: (item: T) => string;
  /** By what the list is ordered, the newest first, in milliseconds since 1970. */
  readonly timeOf: (item: T) => number;
  /** Whether an item is likely to change soon. */
  readonly isMoving: (item: T) => boolean;
  /** Whether somebody reads the list, so that nothing may move. */
  readonly isReading: () => boolean;
  /** What was shown of the same list before: it is shown at once, and its first page is then read again. */
  readonly kept?: Pages<T> | undefined;
}

/** How often the first page is read again while something moves, and while nothing does, in milliseconds. */
const movingMs = 3000;
const restingMs = 9000;

/** Reads a list page by page, and its first page again and again while the page is in sight. */
export function useLiveList<T>(options: LiveListOptions<T>): LiveList<T> {
  const { load, inputs, kept } = options;
  const latest = useRef(options);
  latest.current = options;
  const pages = usePages((cursor, signal) => load(cursor, signal, false), inputs, kept);
  const waiting = useSignal(0);
  const held = useRef<readonly T[] | undefined>(undefined);
  const wasKept = useRef(kept !== undefined);
  const { items } = pages.state.value;
  const isMoving = items.some(options.isMoving);

  const edit = (arranged: readonly T[]): void => {
    if (arranged !== pages.state.peek().items) pages.edit(() => arranged);
  };

  const take = (page: ListPage<T>): void => {
    if (pages.state.peek().isLoading) return;
    const { isReading, ...order } = latest.current;
    const first = { items: page.items, isWhole: page.cursor === undefined };
    const merged = mergeFirstPage(pages.state.peek().items, first, order);
    const isEmpty = pages.state.peek().items.length === 0;
    const isHeld = !isEmpty && isReading() && (merged.newer > 0 || merged.arranged === undefined);
    held.current = isHeld ? merged.arranged : undefined;
    waiting.value = isHeld ? merged.newer : 0;
    if (isHeld) edit(merged.inPlace);
    else if (merged.arranged) edit(merged.arranged);
    else pages.again();
  };

  const showNew = (): void => {
    waiting.value = 0;
    if (held.current) edit(held.current);
    else pages.again();
    held.current = undefined;
  };

  useEffect(() => {
    waiting.value = 0;
    held.current = undefined;
    const controller = new AbortController();
    const read = (): void => {
      if (document.hidden || pages.state.peek().isLoading) return;
      // The next reading comes soon, and the shell says when the service cannot be reached.
      latest.current.load(undefined, controller.signal, true).then(
        (page) => {
          if (!controller.signal.aborted) take(page);
        },
        () => undefined,
      );
    };
    if (wasKept.current) read();
    wasKept.current = false;
    const timer = setInterval(read, isMoving ? movingMs : restingMs);
    document.addEventListener('visibilitychange', read);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', read);
      controller.abort();
    };
  }, [isMoving, ...inputs]);

  return { ...pages, waiting, showNew };
}
