import type { FileInfo } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { faultOf } from '../../session/fault.ts';
import { client } from '../../session/session.ts';
import { toast } from '../../ui/toasts.tsx';

/** Files that are deleted, or about to be: they are not listed while the service may still list them. */
const deleted = signal<ReadonlySet<string>>(new Set());

export const isDeleted = ({ file_id: id }: FileInfo): boolean => deleted.value.has(id);

/** How long a failure to delete is said, in milliseconds. */
const failureMs = 15_000;

/** Deletes a file after five seconds in which it can be taken back. What cannot be deleted is listed again. */
export function deleteLater(file: FileInfo, onUndone: () => void): void {
  hide(file);
  toast({
    text: `${file.filename} is deleted.`,
    undo: () => {
      show(file);
      onUndone();
    },
    onGone: () => void remove(file),
  });
}

async function remove(file: FileInfo): Promise<void> {
  try {
    await client.files.delete(file.file_id);
  } catch (error) {
    show(file);
    toast({ text: `Not deleted: ${file.filename}. ${faultOf(error).what}`, ms: failureMs });
  }
}

function hide({ file_id: id }: FileInfo): void {
  deleted.value = new Set([...deleted.peek(), id]);
}

function show({ file_id: id }: FileInfo): void {
  deleted.value = new Set([...deleted.peek()].filter((each) => each !== id));
}
