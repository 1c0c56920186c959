import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Tab<K extends string> {
  readonly key: K;
  readonly title: string;
}

interface TabsProps<K extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<K>[];
  readonly open: K;
  readonly onOpen: (key: K) => void;
  /** What the open tab shows. */
  readonly children: ComponentChildren;
}

/** Tabs above one panel. The arrow keys go from tab to tab. */
export function Tabs<K extends string>({ label, tabs, open, onOpen, children }: TabsProps<K>) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const at = tabs.findIndex(({ key }) => key === open);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    onOpen(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(({ key, title }) => (
          <button
            key={key}
            type="button"
            role="tab"
            id={`${id}-${key}`}
            aria-selected={key === open}
            aria-controls={`${id}-panel`}
            tabIndex={key === open ? 0 : -1}
            onClick={() => onOpen(key)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${open}`} class="tab-panel">
        {children}
      </div>
    </div>
  );
}
