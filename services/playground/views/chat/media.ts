import type { Block } from '@agent-workflow/client';

/** Where the bytes of an image, a sound, a film or a document are. */
export type MediaSource =
  | { readonly kind: 'file'; readonly fileId: string }
  /** An address that the page may load: one of the service, or the data itself. */
  | { readonly kind: 'loaded'; readonly address: string }
  /** An address elsewhere, which is shown as a link and never loaded. */
  | { readonly kind: 'linked'; readonly address: string };

const textAt = (fields: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined =>
  names.map((name) => fields[name]).find((value): value is string => typeof value === 'string' && value !== '');

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The objects of a block that may hold its bytes. */
const holders = ['media', 'source', 'image_url', 'file'];

const fallbackTypes: Readonly<Record<string, string>> = { image: 'image/png', audio: 'audio/mpeg', video: 'video/mp4' };

/**
 * Finds the bytes of a block, which providers write in different ways: as `file_id`, as an address, or as Base64, at the top of the
 * block or in an object of it. `undefined` when there are none.
 */
export function mediaOf(block: Block, origin: string): MediaSource | undefined {
  const inner = holders.map((name) => block[name]).filter(isObject);
  for (const fields of [block, ...inner]) {
    const fileId = textAt(fields, ['file_id']);
    if (fileId !== undefined) return { kind: 'file', fileId };
    const address = textAt(fields, ['url', 'image_url', 'href']);
    if (address !== undefined) return fromAddress(address, origin);
    const data = textAt(fields, ['data_base64', 'base64', 'data']);
    const type = textAt(fields, ['mime_type', 'media_type', 'content_type', 'mimeType']) ?? fallbackTypes[block.type];
    if (data !== undefined && type !== undefined && base64.test(data.slice(0, 200)))
      return fromAddress(data.startsWith('data:') ? data : `data:${type};base64,${data}`, origin);
  }
  return undefined;
}

const base64 = /^(?:data:[a-z]|[A-Za-z0-9+/=\s]+$)/;

/** What the author of a block calls its bytes: at the top of the block, or beside them in an object of it. */
export function labelOf(block: Block): string | undefined {
  const inner = holders.map((name) => block[name]).filter(isObject);
  return [block, ...inner]
    .map((fields) => textAt(fields, ['alt', 'name', 'filename']))
    .find((name) => name !== undefined);
}

/** Types that a browser draws or plays, and that run nothing. */
const shownData = /^data:(?:image|audio|video)\//i;

function fromAddress(address: string, origin: string): MediaSource | undefined {
  if (shownData.test(address)) return { kind: 'loaded', address };
  if (!URL.canParse(address, origin)) return undefined;
  const url = new URL(address, origin);
  if (url.origin === origin) return { kind: 'loaded', address: url.href };
  return url.protocol === 'http:' || url.protocol === 'https:' ? { kind: 'linked', address: url.href } : undefined;
}
