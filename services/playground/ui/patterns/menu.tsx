import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from '../icon.tsx';

interface MenuItem {
  readonly text: string;
  readonly onSelect: () => void;
  /** Whether it takes something away for good. */
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
}

/** Further actions behind three dots. Arrows go from one to the next, Escape closes and gives the focus back. */
export function Menu({ label, items }: { readonly label: string; readonly items: readonly MenuItem[] }) {
  const isOpen = useSignal(false);
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const entries = (): HTMLElement[] => [...(place.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  useEffect(() => {
    if (isOpen.value) entries()[0]?.focus();
  }, [isOpen.value]);
  const close = (): void => {
    isOpen.value = false;
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = entries();
    const at = all.findIndex((entry) => entry === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length]?.focus();
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
  };
  const onFocusOut = (event: FocusEvent): void => {
    if (!(event.relatedTarget instanceof Node && place.current?.contains(event.relatedTarget))) isOpen.value = false;
  };
  return (
    <div class="menu" ref={place} onFocusOut={onFocusOut}>
      <button
        ref={button}
        type="button"
        class="button-quiet button-sign"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        aria-controls={isOpen.value ? id : undefined}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <Icon name="more" />
      </button>
      {isOpen.value && (
        <div class="menu-list" role="menu" id={id} aria-label={label} onKeyDown={onKeyDown}>
          {items.map(({ text, onSelect, isDanger, isDisabled }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              class={isDanger === true ? 'button-quiet danger' : 'button-quiet'}
              tabIndex={-1}
              aria-disabled={isDisabled}
              onClick={() => {
                if (isDisabled === true) return;
                close();
                onSelect();
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
