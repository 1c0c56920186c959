import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface Toast {
  /** What has happened. */
  readonly text: string;
  /** Takes it back; absent where it cannot be. */
  readonly undo?: () => void;
  /** How long it stays, in milliseconds. It stays longer while the pointer or the focus is on it. */
  readonly ms?: number;
  /** Called when it goes and was not taken back. */
  readonly onGone?: () => void;
}

interface ShownToast extends Toast {
  readonly id: number;
}

const shown = signal<readonly ShownToast[]>([]);
let made = 0;

/** Says in a corner of the page what has happened, and offers to take it back. */
export function toast(given: Toast): void {
  shown.value = [...shown.peek(), { ...given, id: ++made }];
}

function leave({ id, onGone }: ShownToast, isUndone: boolean): void {
  if (!shown.peek().some((each) => each.id === id)) return;
  shown.value = shown.peek().filter((each) => each.id !== id);
  if (!isUndone) onGone?.();
}

/** What waits to be taken back is done when the page goes: nothing is lost by closing it. */
addEventListener('pagehide', () => {
  for (const each of shown.peek()) leave(each, false);
});

/** The corner in which they stand. It is there once, in the shell. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-label="Notices">
      {shown.value.map((each) => (
        <ToastCard key={each.id} of={each} />
      ))}
    </div>
  );
}

const stayMs = 5000;

function ToastCard({ of }: { readonly of: ShownToast }) {
  const [isHeld, hold] = useState(false);
  useEffect(() => {
    if (isHeld) return undefined;
    const timer = setTimeout(() => leave(of, false), of.ms ?? stayMs);
    return () => clearTimeout(timer);
  }, [isHeld]);
  const undo = (): void => {
    leave(of, true);
    of.undo?.();
  };
  return (
    <div
      class="toast"
      onPointerEnter={() => hold(true)}
      onPointerLeave={() => hold(false)}
      onFocusIn={() => hold(true)}
      onFocusOut={() => hold(false)}
    >
      <span>{of.text}</span>
      {of.undo && (
        <button type="button" onClick={undo}>
          Undo
        </button>
      )}
      <button type="button" class="button-quiet button-sign" aria-label="Dismiss" onClick={() => leave(of, false)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
