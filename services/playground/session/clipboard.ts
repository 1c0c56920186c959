/**
 * Copies a text. A page over plain HTTP from another machine has no clipboard of its own: it copies by a box that is chosen.
 * @throws Error where the browser refuses.
 */
export async function copyText(text: string): Promise<void> {
  if (isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const box = document.createElement('textarea');
  box.value = text;
  // A dialog that is open makes all else of the page inert.
  (document.querySelector('dialog[open]') ?? document.body).append(box);
  const focused = document.activeElement;
  box.select();
  // The only way that is left there: it is out of date, and browsers keep it.
  const editing: { readonly execCommand: (name: 'copy') => boolean } = document;
  const isDone = editing.execCommand('copy');
  box.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isDone) throw new Error('The browser did not let the page copy.');
}
