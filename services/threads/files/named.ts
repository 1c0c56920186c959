import type { ErrorDetail } from '@agent-workflow/kit/errors';
import { idFault } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { fromJson } from '../record/json.ts';

/** A file that a content block names, and where. */
interface NamedFile {
  readonly fileId: string;
  /** The path of the field in the request of the service. */
  readonly field: ErrorDetail['field'];
}

/**
 * The files that content blocks of these messages name by `file_id`, each once, in order. A message without that name in its text is
 * not parsed. A value that is no identifier is given to `onFault`, and names nothing; `null` is no value.
 */
export function filesNamedBy(
  messages: readonly MessageEntry[],
  onFault: (fault: ErrorDetail) => void = () => undefined,
): readonly NamedFile[] {
  const found = new Map<string, NamedFile>();
  for (const [index, { json }] of messages.entries()) {
    if (!mayName(json)) continue;
    for (const [place, fileId] of blockFiles(fromJson(json))) {
      const field = ['messages', index, 'content', place, 'file_id'];
      const fault = faultOf(fileId);
      if (fault) onFault({ field, ...fault });
      else if (!found.has(fileId as string)) found.set(fileId as string, { fileId: fileId as string, field });
    }
  }
  return [...found.values()];
}

const faultOf = (fileId: unknown): ReturnType<typeof idFault> =>
  typeof fileId === 'string' ? idFault(fileId) : { msg: 'must be a string', type: 'string_type' };

const name = Buffer.from('"file_id"');

const mayName = ({ buffer, byteOffset, byteLength }: Uint8Array): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(name);

/** The `file_id` of each block of a message, with the place of the block. */
function* blockFiles(message: unknown): Generator<readonly [place: number, fileId: unknown]> {
  const content = (message as { readonly content?: unknown } | null)?.content;
  if (!Array.isArray(content)) return;
  for (const [place, block] of (content as readonly unknown[]).entries()) {
    const fileId = (block as { readonly file_id?: unknown } | null)?.file_id;
    if (fileId !== undefined && fileId !== null) yield [place, fileId];
  }
}
