/** What of a press of a key decides whether it sends. */
type Press = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'altKey' | 'isComposing'>;

/** Safari reports the Enter that ends a composition just after its end. No hand presses it again so soon, in milliseconds. */
const sameMs = 50;

/**
 * Whether a press in a box sends what is written: Enter, alone or with Ctrl or ⌘. With Shift or Alt it breaks the line, and while a sign
 * of another script is composed it belongs to that.
 * @param sinceComposedMs how long ago a composition has ended, in milliseconds
 */
export const isSending = ({ key, shiftKey, altKey, isComposing }: Press, sinceComposedMs = Infinity): boolean =>
  key === 'Enter' && !shiftKey && !altKey && !isComposing && sinceComposedMs > sameMs;
