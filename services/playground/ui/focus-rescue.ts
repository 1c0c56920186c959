import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * Moves the focus when the focused element is removed: it would go to the top of the page otherwise.
 * @param homeOf the element that gets the focus when this one is removed; called while this one is still there
 * @returns the ref of the element that contains those that are removed
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
