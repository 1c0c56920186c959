import { saveFile } from './save-file.ts';

interface SaveAllProps {
  /** What the file is called. */
  readonly name: string;
  /** Makes its content when it is wanted. */
  readonly content: () => string;
}

/** Saves the whole of what the page shows the beginning of. */
export function SaveAll({ name, content }: SaveAllProps) {
  const save = (): void => saveFile(new Blob([content()], { type: 'text/plain' }), name);
  return (
    <button type="button" class="small" onClick={save}>
      Save all of it
    </button>
  );
}
