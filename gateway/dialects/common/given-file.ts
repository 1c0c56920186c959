import type { Block } from '@agent-workflow/protos/message';

/** What an agent gives beside its text: a file at an address or as bytes, or data. */
interface Given {
  readonly filename?: string;
  readonly mediaType?: string;
  readonly fileId?: string;
  readonly url?: string;
  /** Base64. */
  readonly raw?: string;
  readonly data?: unknown;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textIn = (block: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined =>
  names.map((name) => block[name]).find((value) => typeof value === 'string');

/** Blocks that are not for the caller, and text. */
const silent: ReadonlySet<string> = new Set([...['text', 'reasoning', 'tool_call', 'remote_tool_call', 'tool_result']]);

/** What a block gives beside text, whatever it calls its fields; `undefined` for text, and for what is not for the caller. */
export function givenIn(block: Block): Given | undefined {
  const { type, data } = block;
  if (silent.has(type)) return undefined;
  const mediaType = textIn(block, ['media_type', 'mediaType', 'mime_type', 'mimeType']);
  const filename = textIn(block, ['filename', 'name', 'title']);
  const more = { ...(filename !== undefined && { filename }), ...(mediaType !== undefined && { mediaType }) };
  if (type === 'data' && data !== undefined) return { data, ...more };
  const fileId = textIn(block, ['file_id']);
  if (fileId !== undefined) return { fileId, ...more };
  const { source, image_url: image } = block;
  const inside = isObject(source) ? source : isObject(image) ? image : block;
  const url = textIn(inside, ['url', 'image_url', 'file_url', 'uri']);
  if (url !== undefined) return { url, ...more };
  const raw = textIn(inside, ['data', 'base64']);
  return raw === undefined ? { data: block, ...more } : { raw, ...more };
}
