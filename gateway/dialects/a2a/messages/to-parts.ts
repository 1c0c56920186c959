import type { Block, Message } from '@agent-workflow/protos/message';
import type { TaskPart } from '@agent-workflow/protos/task-status';
import type { AddressOf } from '../../common/file-addresses.ts';
import { givenIn } from '../../common/given-file.ts';
import { dataType } from './from-parts.ts';

/** What a message says to its reader: without calls, their results, and what a model thought. */
export const toParts = ({ content }: Pick<Message, 'content'>, addressOf: AddressOf): readonly TaskPart[] =>
  content.flatMap((block) => toPart(block, addressOf));

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A block as a part; none for what is of no use to another agent. */
export function toPart(block: Block, addressOf: AddressOf): readonly TaskPart[] {
  const { type, text, metadata, media_type: textType } = block;
  const own = isObject(metadata) ? { metadata } : {};
  if (type === 'text') {
    if (typeof text !== 'string') return [];
    const value = textType === dataType ? jsonIn(text) : undefined;
    const more = { ...(typeof textType === 'string' && { mediaType: textType }), ...own };
    return [value === undefined ? { text, ...more } : { data: value, ...more }];
  }
  const given = givenIn(block);
  if (!given) return [];
  const { fileId, ...part } = given;
  return [{ ...part, ...(fileId !== undefined && { url: addressOf(fileId) }), ...own }];
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
