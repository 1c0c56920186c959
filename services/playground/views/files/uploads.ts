import { RequestError } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { client } from '../../session/session.ts';

/** A file that could not be sent, and why. */
export interface FailedUpload {
  readonly name: string;
  readonly error: unknown;
}

const sending = signal(false);
const failed = signal<readonly FailedUpload[]>([]);

/** Whether files are sent now. They go on being sent when their list is left. */
export const isSending: ReadonlySignal<boolean> = sending;

/** The files of the last choice that could not be sent. */
export const failedUploads: ReadonlySignal<readonly FailedUpload[]> = failed;

/** The reader has seen which could not be sent. */
export function forgetFailed(): void {
  failed.value = [];
}

/** Sends files one after the other. One that is refused stops none of the others, unless the same would become of them. */
export async function uploadAll(files: readonly File[]): Promise<void> {
  if (sending.peek()) return;
  sending.value = true;
  failed.value = [];
  try {
    for (const [at, file] of files.entries()) {
      const error = await failureOf(file);
      if (error === undefined) continue;
      const given = concernsAll(error) ? files.slice(at) : [file];
      failed.value = [...failed.peek(), ...given.map(({ name }) => ({ name, error }))];
      if (concernsAll(error)) return;
    }
  } finally {
    sending.value = false;
  }
}

const failureOf = async (file: File): Promise<unknown> =>
  client.files.upload(file).then(
    () => undefined,
    (error: unknown) => error,
  );

/** Whether the failure lies with the service or the reader, not with the file. */
const concernsAll = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 0 || error.status === 401 || error.status === 403);
