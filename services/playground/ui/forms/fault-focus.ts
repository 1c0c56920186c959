import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Takes the reader to the first field that is marked as wrong, each time a form is refused; what is folded around it opens.
 * The focus moves before the refusal is painted, so that no key goes to the field that had it before.
 * @param refusals how often the form was refused so far
 * @returns for the element that holds the fields
 */
export function useFaultFocus<T extends HTMLElement>(refusals: number): RefObject<T> {
  const form = useRef<T>(null);
  const seen = useRef(refusals);
  useLayoutEffect(() => {
    if (seen.current === refusals) return;
    seen.current = refusals;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    if (!field) return;
    for (let fold = field.closest('details'); fold; fold = fold.parentElement?.closest('details') ?? null)
      fold.open = true;
    field.focus();
  }, [refusals]);
  return form;
}
