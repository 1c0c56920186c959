import type { Block, Message } from '@agent-workflow/protos/message';
import type { TaskPart } from '@agent-workflow/protos/task-status';
import { dataType } from './from-parts.ts';

/** The address at which a file of the caller is read without credentials. */
export type AddressOf = (fileId: string) => string;

/** What a message says to its reader: without calls, their results, and what a model thought. */
export const toParts = ({ content }: Pick<Message, 'content'>, addressOf: AddressOf): readonly TaskPart[] =>
  content.flatMap((block) => toPart(block, addressOf));

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textIn = (block: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined =>
  names.map((name) => block[name]).find((value) => typeof value === 'string');

/** A block as a part; none for what is of no use to another agent. */
export function toPart(block: Block, addressOf: AddressOf): readonly TaskPart[] {
  const { type, text, data, metadata } = block;
  const mediaType = textIn(block, ['media_type', 'mediaType', 'mime_type', 'mimeType']);
  const filename = textIn(block, ['filename', 'name']);
  const more = {
    ...(filename !== undefined && { filename }),
    ...(mediaType !== undefined && { mediaType }),
    ...(isObject(metadata) && { metadata }),
  };
  if (type === 'text') {
    if (typeof text !== 'string') return [];
    const value = mediaType === dataType ? jsonIn(text) : undefined;
    return [value === undefined ? { text, ...more } : { data: value, ...more }];
  }
  if (silent.has(type)) return [];
  if (type === 'data' && data !== undefined) return [{ data, ...more }];
  const fileId = textIn(block, ['file_id']);
  if (fileId !== undefined) return [{ url: addressOf(fileId), ...more }];
  const source = isObject(block['source']) ? block['source'] : block;
  const url = textIn(source, ['url', 'image_url', 'file_url']);
  if (url !== undefined) return [{ url, ...more }];
  const raw = textIn(source, ['data', 'base64']);
  if (raw !== undefined) return [{ raw, ...more }];
  return [{ data: block }];
}

/** Blocks that are not for the caller. */
const silent: ReadonlySet<string> = new Set(['reasoning', 'tool_call', 'remote_tool_call', 'tool_result']);

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
