import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isSingle, nameOf } from './key-names.ts';

/** One shortcut. The table of them drives the keyboard, the dialog that lists them, and the palette. */
export interface Shortcut {
  /** One press (`/`, `mod+k`, `Escape`) or several in order (`g c`), as `nameOf` names them. Empty for what only the palette offers. */
  readonly keys: string;
  /** What it does: `Search on this page`. */
  readonly text: string;
  /** What it belongs to, as the dialog heads it: `Everywhere`, or the title of a view. */
  readonly group: string;
  /** Whether the palette offers it. What needs a chosen row or an open box makes no sense there. */
  readonly isAction?: boolean;
  /** Answers `false` where it has nothing to do: the browser, or another shortcut of these keys, then has the press. */
  readonly run: () => unknown;
}

/** What is registered now, the latest last. It goes before earlier ones of the same keys. */
export const shortcuts = signal<readonly Shortcut[]>([]);

/** Where the choice against single keys is kept, for all tabs of this browser. */
const offKey = 'single-keys';

/** Whether single keys do anything. */
export const areSingleKeysOn = signal(localStorage.getItem(offKey) !== 'off');

/**
 * Has shortcuts while the component is there. What they do may change with each drawing; which there are, by their keys and texts,
 * is compared.
 */
export function useKeys(table: readonly Shortcut[]): void {
  const latest = useRef(table);
  latest.current = table;
  const names = table.map(({ keys, text }) => `${keys} ${text}`).join('\n');
  useEffect(() => {
    const held = table.map((each, index) => ({ ...each, run: () => latest.current[index]?.run() }));
    shortcuts.value = [...shortcuts.peek(), ...held];
    return () => {
      shortcuts.value = shortcuts.peek().filter((each) => !held.includes(each));
    };
  }, [names]);
}

/** For how long the first key of several waits for the next, in milliseconds. */
const waitMs = 1500;

/** Begins to follow the keyboard. */
export function followKeys(): void {
  let before = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    if (areSingleKeysOn.value) localStorage.removeItem(offKey);
    else localStorage.setItem(offKey, 'off');
  });
  addEventListener('keydown', (event) => {
    // A key that is held, that composes a sign of another script, or that a part of the page has taken, is none of ours.
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    if (['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return;
    const press = nameOf(event);
    const sought = before === '' ? press : `${before} ${press}`;
    clearTimeout(timer);
    before = '';
    if (isSingle(press) && isTaken(event.target)) return;
    // It closes the dialog, and leaves what is below as it is.
    if (press === 'Escape' && document.querySelector('dialog[open]') !== null) return;
    const table = shortcuts.peek().toReversed();
    if (table.some(({ keys, run }) => keys === sought && run() !== false)) event.preventDefault();
    else if (table.some(({ keys }) => keys.startsWith(`${sought} `))) {
      before = sought;
      timer = setTimeout(() => {
        before = '';
      }, waitMs);
    }
  });
}

const typing = 'textarea, select, [contenteditable=true], input:not([type=checkbox], [type=radio], [type=button])';

/** Whether single keys are not ours: they are switched off, somebody writes, or a dialog is open. */
function isTaken(target: EventTarget | null): boolean {
  if (!areSingleKeysOn.peek() || document.querySelector('dialog[open]') !== null) return true;
  return target instanceof Element && target.closest(typing) !== null;
}
