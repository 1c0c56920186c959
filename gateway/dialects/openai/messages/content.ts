import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { unsupported } from '../replies/refusal.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parts whose text is text of the message. */
const textParts: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'refusal', 'summary_text']);

/** Parts with an image, a sound or a document, which models read as they stand. */
const mediaParts: ReadonlySet<string> = new Set(['image_url', 'input_image', 'input_audio', 'file', 'input_file']);

/** The content of a message as blocks: a text, or a list of parts. @throws Invalid naming the part */
export function toBlocks(content: unknown, at: Loc): Block[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalidAt(at, 'must be a string or an array', 'string_or_array_type');
  return content.map((part: unknown, index) => toBlock(part, [...at, index]));
}

function toBlock(part: unknown, at: Loc): Block {
  if (!isObject(part) || typeof part['type'] !== 'string') throw invalidAt([...at, 'type'], 'is required', 'missing');
  const { type, text, refusal, file } = part;
  if (textParts.has(type)) {
    const given = type === 'refusal' ? refusal : text;
    if (typeof given !== 'string') throw invalidAt([...at, type === 'refusal' ? type : 'text'], 'must be string');
    return { type: 'text', text: given };
  }
  if (!mediaParts.has(type))
    throw unsupported([...at.slice(1), 'type'], `a part of the type "${type.slice(0, 64)}" is not taken`);
  // The id of a file is the service's own where it stands in the block itself.
  if (type === 'file' && isObject(file) && typeof file['file_id'] === 'string')
    return { type, file_id: file['file_id'] };
  return part as Block;
}
