/** Has the browser save a content under a name. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  Object.assign(link, { href: address, download: name });
  link.click();
  // The download has begun with the click, and holds what it saves.
  setTimeout(() => URL.revokeObjectURL(address));
}
