import type { Run } from '@agent-workflow/client';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Pages } from '../../session/pages.ts';
import { isSameQuery } from '../../session/saved-filters.ts';
import { token } from '../../session/session.ts';

type Query = Readonly<Record<string, string>>;

/** The list of runs as it was when a run of it was opened. */
export interface LeftList {
  readonly query: Query;
  readonly pages: Pages<Run>;
  /** Of whom it was read. */
  readonly token: string;
}

/** What is left of the list with this selection. */
export const leftOf = (left: LeftList | undefined, query: Query): LeftList | undefined =>
  left?.token === token.peek() && isSameQuery(left.query, query) ? left : undefined;

/** Keeps a list when it goes, unless it could not be read, or is about to be another one. */
export function useLeaving(left: Signal<LeftList | undefined>, listNow: () => Omit<LeftList, 'token'>): void {
  const latest = useRef(listNow);
  latest.current = listNow;
  useEffect(
    () => () => {
      const { query, pages } = latest.current();
      const { items, cursor, error, isLoading } = pages;
      const isWhole = error === undefined && !isLoading;
      left.value = isWhole ? { query, pages: { items, cursor, isLoading }, token: token.peek() } : undefined;
    },
    [],
  );
}

/** How often a row that was scrolled to is looked for, each time before the page is painted. */
const mostFrames = 60;

/** Gives the focus to a row that comes into sight, unless something else has it by then. */
export function focusRow(list: Element | null, href: string): () => void {
  let frame = 0;
  const seek = (left: number): void => {
    const row = [...(list?.querySelectorAll<HTMLElement>('a[data-row]') ?? [])].find(
      (each) => each.getAttribute('href') === href,
    );
    const isFree = document.activeElement === document.body || document.activeElement === null;
    if (row && isFree) row.focus({ preventScroll: true });
    else if (isFree && left > 0) frame = requestAnimationFrame(() => seek(left - 1));
  };
  seek(mostFrames);
  return () => cancelAnimationFrame(frame);
}
