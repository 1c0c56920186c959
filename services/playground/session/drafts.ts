import type { Signal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';

/** How many bytes a draft has at most: the browser keeps about five million for all drafts of a tab. */
const maxBytes = 1024 ** 2;

/** How long after the last change a draft is kept, in milliseconds. */
const quietMs = 250;

/** What was typed in this tab and not sent: it outlives a change of view and a reload, and goes with the tab. */
export const readDraft = (key: string): string => sessionStorage.getItem(key) ?? '';

/** Keeps a draft in the place of the one before; an empty one, and one that is too large, leave none. */
export function writeDraft(key: string, text: string): void {
  sessionStorage.removeItem(key);
  // The browser counts two bytes for each unit of UTF-16.
  if (text === '' || text.length * 2 > maxBytes) return;
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // The storage of the tab is full: the draft stays on the page for as long as the page does.
  }
}

/**
 * Keeps what is typed under a key, soon after each change, and at once when the component or the page goes. `latest` gives what is
 * typed by then: the component may not have been drawn with it yet.
 */
export function useDraft(key: string, text: string, latest: () => string): void {
  const read = useRef(latest);
  read.current = latest;
  const keep = useCallback(() => writeDraft(key, read.current()), [key]);
  useEffect(() => {
    const timer = setTimeout(keep, quietMs);
    return () => clearTimeout(timer);
  }, [text, keep]);
  useEffect(() => {
    addEventListener('pagehide', keep);
    return () => {
      removeEventListener('pagehide', keep);
      keep();
    };
  }, [keep]);
}

/** What was typed in several forms, by their ids. */
export type Typed<T> = Readonly<Record<string, T>>;

/** What a draft holds: nothing where it is none. {@link TypedDraft} keeps it. */
export function typedIn<T>(draft: string): Typed<T> {
  try {
    return JSON.parse(draft) as Typed<T>;
  } catch {
    return {};
  }
}

const draftOf = (typed: Typed<unknown>): string => (Object.keys(typed).length === 0 ? '' : JSON.stringify(typed));

/** Keeps under a key what is typed and not sent; {@link TypedDraft} does so only while it is drawn. */
export function keepTyped(key: string, typed: Typed<unknown>): void {
  writeDraft(key, draftOf(typed));
}

/** Keeps what was typed for this tab. It draws nothing: what is around it is not drawn anew with every key. */
export function TypedDraft({ name, typed }: { readonly name: string; readonly typed: Signal<Typed<unknown>> }) {
  useDraft(name, draftOf(typed.value), () => draftOf(typed.peek()));
  return null;
}
