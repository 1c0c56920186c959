import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { useKeys, type Shortcut } from '../../session/keys.ts';

export interface TabsProps {
  /** What they are tabs of. */
  readonly label: string;
  readonly tabs: readonly {
    readonly id: string;
    readonly title: string;
    readonly count?: number | undefined;
    /** Whether there is nothing behind it but a sentence that says so. */
    readonly isQuiet?: boolean;
  }[];
  /** The id of the tab that is shown. */
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  /** Whether [ and ] choose among them; tabs around other tabs leave the keys to those. */
  readonly hasKeys?: boolean;
  /** The content of the tab that is shown. */
  readonly children?: ComponentChildren;
}

/** Tabs and the panel of the chosen one. They are one stop of the Tab key; arrows, Home and End choose, and so do [ and ]. */
export function Tabs({ label, tabs, selected, onSelect, hasKeys = true, children }: TabsProps) {
  const base = useId();
  const list = useRef<HTMLDivElement>(null);
  const at = tabs.findIndex(({ id }) => id === selected);
  const choose = (index: number): boolean => {
    const next = tabs[(index + tabs.length) % tabs.length];
    if (next === undefined) return false;
    onSelect(next.id);
    return true;
  };
  const keys: readonly Shortcut[] = [
    { keys: '[', text: 'Previous tab', group: 'Lists', run: () => choose(at - 1) },
    { keys: ']', text: 'Next tab', group: 'Lists', run: () => choose(at + 1) },
  ];
  useKeys(hasKeys ? keys : []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[(to + tabs.length) % tabs.length]?.focus();
  };
  return (
    <>
      <div class="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ id, title, count, isQuiet }) => (
          <button
            key={id}
            type="button"
            role="tab"
            class={isQuiet === true ? 'tab-quiet' : undefined}
            id={`${base}-${id}`}
            aria-selected={id === selected}
            aria-controls={`${base}-panel`}
            tabIndex={id === selected ? 0 : -1}
            onClick={() => onSelect(id)}
          >
            {title}
            {count !== undefined && <span class="tab-count">{count}</span>}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${selected}`}>
        {children}
      </div>
    </>
  );
}
