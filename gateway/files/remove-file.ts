import { never, within } from '@agent-workflow/protos/call';
import type { FileCalls } from '@agent-workflow/protos/threads';
import type { FileStore } from './open.ts';
import type { FileKey } from './port.ts';

/** How long the removal of one file may take, in milliseconds: one that hangs does not hold up others. */
const removeMs = 30_000;

/** What a removal uses. */
export interface RemoveFileParts {
  readonly threads: Pick<FileCalls, 'forgetFile'>;
  readonly files: Pick<FileStore, 'bytes' | 'meters'>;
}

/**
 * Removes the bytes of a file whose record is `deleting`, then the record. What was done stays done when it is cut off, and is done
 * again without harm.
 */
export async function removeFile(
  { owner, fileId }: FileKey,
  { threads, files }: RemoveFileParts,
  signal: AbortSignal = never,
): Promise<void> {
  const call = within(removeMs, AbortSignal.any([signal, AbortSignal.timeout(removeMs)]));
  try {
    await files.bytes.remove({ owner, fileId }, call.signal);
    await threads.forgetFile({ owner, fileId }, call);
  } catch (error) {
    files.meters?.removed.add({ outcome: 'failed' });
    throw error;
  }
  files.meters?.removed.add({ outcome: 'removed' });
}
