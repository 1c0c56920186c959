/** What of a keyboard event shows which keys are pressed. */
type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>;

/**
 * The name of what is pressed, as the table of shortcuts has it: `j`, `?`, `Escape`, `shift+x`, `mod+k`. `mod` is ⌘ or Ctrl. The shift
 * that a sign such as `?` needs is not named, as keyboards differ in it.
 */
export function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): string {
  const isLetter = /^\p{L}$/u.test(key);
  const shift = shiftKey && (isLetter || key.length > 1) ? 'shift+' : '';
  return `${ctrlKey || metaKey ? 'mod+' : ''}${altKey ? 'alt+' : ''}${shift}${isLetter ? key.toLowerCase() : key}`;
}

/** Whether a shortcut is one of single keys, which a reader can switch off and which a field keeps for itself. */
export const isSingle = (keys: string): boolean => !keys.includes('mod+') && keys !== 'Escape';

const signs: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
};

/** The keys as the reader's keyboard has them, each press one text: `mod+k` → `['⌘K']` or `['Ctrl+K']`, `g c` → `['G', 'C']`. */
export function signsOf(keys: string, isMac: boolean): readonly string[] {
  return keys.split(' ').map((press) => {
    const parts = press === '+' ? ['+'] : press.split('+');
    const names = parts.map((part) => signs[part] ?? (part.length === 1 ? part.toUpperCase() : part));
    const shown = names.map((name) => (name === 'mod' ? (isMac ? '⌘' : 'Ctrl') : name === 'shift' ? 'Shift' : name));
    return shown.join(isMac && parts[0] === 'mod' ? '' : '+');
  });
}
