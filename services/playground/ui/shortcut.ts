/** Whether a key sends what is written: Ctrl+Enter, or ⌘+Enter. */
const sends = ({ key, ctrlKey, metaKey }: KeyboardEvent): boolean => key === 'Enter' && (ctrlKey || metaKey);

/** Sends the form of a box by the keyboard, as its button does. */
export function sendByKeys(event: KeyboardEvent): void {
  if (!sends(event) || !(event.target instanceof HTMLTextAreaElement)) return;
  event.preventDefault();
  event.target.form?.requestSubmit();
}
