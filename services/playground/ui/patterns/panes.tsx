import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';

/** Whether a detail stands beside the list: it then has the one `h1` of the page. */
const IsBeside = createContext(false);

/** The heading of a list: the first of the page, unless a detail is open beside it. */
export function ListHeading({ children }: { readonly children: ComponentChildren }) {
  return useContext(IsBeside) ? <h2 class="list-title">{children}</h2> : <h1 class="list-title">{children}</h1>;
}

/** The heading of a group of rows, one level below that of its list. */
export function GroupHeading({ children }: { readonly children: ComponentChildren }) {
  return useContext(IsBeside) ? <h3 class="group">{children}</h3> : <h2 class="group">{children}</h2>;
}

interface PanesProps {
  readonly list: ComponentChildren;
  /** What is open, or the sentence that stands there while nothing is. */
  readonly detail: ComponentChildren;
  /** Whether rows hold more than a title and a time: the list is then wider. */
  readonly isListWide?: boolean;
  /** Whether something is open. A phone then shows it in place of the list. */
  readonly hasDetail: boolean;
}

/** A list and what is open of it. A phone shows one at a time, and the way back leads to the same row. */
export function Panes({ list, detail, hasDetail, isListWide = false }: PanesProps) {
  const left = useRef<HTMLDivElement>(null);
  const opened = useRef<string | null>(null);
  useEffect(() => {
    const rows = [...(left.current?.querySelectorAll<HTMLAnchorElement>('a[data-row]') ?? [])];
    const hash = rows.find((row) => row.getAttribute('aria-current') === 'true')?.getAttribute('href') ?? null;
    if (hasDetail) opened.current = hash;
    else if (opened.current !== null && document.activeElement === document.body)
      rows.find((row) => row.getAttribute('href') === opened.current)?.focus();
  });
  return (
    <div class={['panes', hasDetail && 'panes-open', isListWide && 'panes-wide'].filter(Boolean).join(' ')}>
      <div class="pane-list" ref={left}>
        <IsBeside.Provider value={hasDetail}>{list}</IsBeside.Provider>
      </div>
      <div class="pane-detail">{detail}</div>
    </div>
  );
}
