interface SaveAllProps {
  /** What the file is called. */
  readonly name: string;
  /** Makes its content when it is wanted. */
  readonly content: () => string;
}

/** Saves the whole of what the page shows the beginning of. */
export function SaveAll({ name, content }: SaveAllProps) {
  const save = (): void => {
    const address = URL.createObjectURL(new Blob([content()], { type: 'text/plain' }));
    const link = document.createElement('a');
    Object.assign(link, { href: address, download: name });
    link.click();
    // The download has begun with the click, and holds what it saves.
    setTimeout(() => URL.revokeObjectURL(address));
  };
  return (
    <button type="button" class="small" onClick={save}>
      Save all of it
    </button>
  );
}
