import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useKeys } from '../../session/keys.ts';
import { ListHeading } from './panes.tsx';

interface ListPaneProps {
  /** What it lists: `Threads`. */
  readonly title: string;
  /** How many there are, in words; a screen reader says each change. */
  readonly count?: ComponentChildren;
  /** One or two buttons at the right. */
  readonly actions?: ComponentChildren;
  /** Saved filters, the box to search in, filters. */
  readonly filters?: ComponentChildren;
  /** Stays below the rows, as what can be done with those that are chosen. */
  readonly footer?: ComponentChildren;
  /** Groups and rows, or what stands in their place. */
  readonly children: ComponentChildren;
}

/** A list: its bar, its filters, its rows. J and K go from row to row, and / to the box to search in. */
export function ListPane({ title, count, actions, filters, footer, children }: ListPaneProps) {
  const pane = useRef<HTMLElement>(null);
  const step = (by: 1 | -1) => (): boolean => pane.current !== null && stepRows(pane.current, by);
  const search = (): boolean => {
    const box = pane.current?.querySelector<HTMLInputElement>('input[type=search]');
    box?.focus();
    box?.select();
    return Boolean(box);
  };
  useKeys([
    { keys: 'j', text: 'Next row', group: 'Lists', run: step(1) },
    { keys: 'k', text: 'Previous row', group: 'Lists', run: step(-1) },
    { keys: 'x', text: 'Choose the row, where several can be', group: 'Lists', run: chooseRow },
    { keys: '/', text: 'Search on this page', group: 'Lists', run: search },
  ]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key] as 1 | -1 | undefined;
    if (by === undefined || !(event.target instanceof Element && event.target.matches('[data-row]'))) return;
    if (step(by)()) event.preventDefault();
  };
  return (
    <section class="list-pane" ref={pane} onKeyDown={onKeyDown} aria-label={title}>
      <div class="bar">
        <ListHeading>{title}</ListHeading>
        <span class="bar-count" role="status">
          {count}
        </span>
        {actions !== undefined && <div class="bar-actions">{actions}</div>}
      </div>
      {filters !== undefined && <div class="list-filters">{filters}</div>}
      <div class="list-body">{children}</div>
      {footer}
    </section>
  );
}

/** Moves the focus by one row, from the one that has it, else from the one that is open. Answers whether there is one. */
function stepRows(pane: HTMLElement, by: 1 | -1): boolean {
  const rows = [...pane.querySelectorAll<HTMLElement>('[data-row]')].filter((row) => row.checkVisibility());
  const at = rows.findIndex((row) => row === document.activeElement);
  const from = at === -1 ? rows.findIndex((row) => row.getAttribute('aria-current') === 'true') : at;
  const next = rows[from === -1 ? 0 : from + by];
  next?.focus();
  return next !== undefined;
}

/** Turns the box of the row that has the focus. */
function chooseRow(): boolean {
  const box = document.activeElement?.parentElement?.querySelector<HTMLInputElement>(':scope > input[type=checkbox]');
  box?.click();
  return Boolean(box);
}
