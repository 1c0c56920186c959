import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * Hands the keyboard on when the element that has it is taken off the page: the reader would begin again at the top otherwise.
 * @param homeOf where the keyboard goes when this element goes; asked while it is still there
 * @returns for the element in which others come and go
 */
export function useFocusRescue<T extends HTMLElement>(homeOf: (element: Element) => HTMLElement | null): RefObject<T> {
  const root = useRef<T>(null);
  useEffect(() => {
    const { current } = root;
    if (!current) return undefined;
    let held: { readonly element: Element; readonly home: HTMLElement | null } | undefined;
    const note = ({ target }: FocusEvent): void => {
      held = target instanceof Element ? { element: target, home: homeOf(target) } : undefined;
    };
    const leave = ({ relatedTarget }: FocusEvent): void => {
      if (relatedTarget !== null) held = undefined;
    };
    const observer = new MutationObserver(() => {
      if (held === undefined || held.element.isConnected || document.activeElement !== document.body) return;
      held.home?.focus();
    });
    current.addEventListener('focusin', note);
    current.addEventListener('focusout', leave);
    observer.observe(current, { childList: true, subtree: true });
    return () => {
      current.removeEventListener('focusin', note);
      current.removeEventListener('focusout', leave);
      observer.disconnect();
    };
  }, []);
  return root;
}
