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
  if (!messages.some(({ json }) => mayName(json))) return [];
  const found = new Map<string, NamedFile>();
  for (const [index, { json }] of messages.entries()) {
    if (!mayName(json)) continue;
    for (const [place, fileId] of filesIn(contentOf(fromJson(json)))) {
      const field = ['messages', index, 'content', place, 'file_id'];
      const fault = faultOf(fileId);
      if (fault) onFault({ field, ...fault });
      else if (!found.has(fileId as string)) found.set(fileId as string, { fileId: fileId as string, field });
    }
  }
  return [...found.values()];
}

/** The same for messages of a step: the results of its tools may be, or hold, a list of blocks. */
export function filesNamedByStep(messages: readonly MessageEntry[]): readonly string[] {
  if (!messages.some(({ json }) => mayName(json))) return [];
  const found = new Set(filesNamedBy(messages).map(({ fileId }) => fileId));
  for (const { json } of messages) {
    if (!mayName(json)) continue;
    for (const block of contentOf(fromJson(json)))
      for (const [, fileId] of filesIn(outputOf(block))) if (faultOf(fileId) === undefined) found.add(fileId as string);
  }
  return [...found];
}

const faultOf = (fileId: unknown): ReturnType<typeof idFault> =>
  typeof fileId === 'string' ? idFault(fileId) : { msg: 'must be a string', type: 'string_type' };

const name = Buffer.from('"file_id"');

const mayName = ({ buffer, byteOffset, byteLength }: Uint8Array): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(name);

/** The `file_id` of each block, with the place of the block. */
function* filesIn(blocks: readonly unknown[]): Generator<readonly [place: number, fileId: unknown]> {
  for (const [place, block] of blocks.entries()) {
    const fileId = (block as { readonly file_id?: unknown } | null)?.file_id;
    if (fileId !== undefined && fileId !== null) yield [place, fileId];
  }
}

const contentOf = (value: unknown): readonly unknown[] => listOf((value as { content?: unknown } | null)?.content);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);

/** The blocks of the result of a tool. */
function outputOf(block: unknown): readonly unknown[] {
  const { type, output } = (block ?? {}) as { readonly type?: unknown; readonly output?: unknown };
  if (type !== 'tool_result') return [];
  return Array.isArray(output) ? listOf(output) : contentOf(output);
}
