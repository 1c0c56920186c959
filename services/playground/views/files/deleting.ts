import { RequestError, type FileInfo } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { faultOf } from '../../session/fault.ts';
import { lastingClient } from '../../session/session.ts';
import { toast } from '../../ui/toasts.tsx';

/** Files that are deleted, or about to be: they are not listed while the service may still list them. */
const deleted = signal<ReadonlySet<string>>(new Set());

export const isDeleted = ({ file_id: id }: Pick<FileInfo, 'file_id'>): boolean => deleted.value.has(id);

/** How long a failure to delete is said, in milliseconds. */
const failureMs = 15_000;

/** Deletes a file after five seconds in which it can be taken back. What cannot be deleted is listed again. */
export function deleteLater(file: FileInfo, onUndone: () => void): void {
  hide(file);
  const client = lastingClient();
  toast({
    text: `${file.filename} is deleted.`,
    undo: () => {
      show(file);
      onUndone();
    },
    onGone: () => void remove(file, client),
  });
}

async function remove(file: FileInfo, client: ReturnType<typeof lastingClient>): Promise<void> {
  try {
    await client.files.delete(file.file_id);
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return;
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
