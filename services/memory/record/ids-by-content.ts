import { createHash } from 'node:crypto';
import type { StoreRequest } from '@agent-workflow/protos/memory';

type Parts = Pick<StoreRequest, 'owner' | 'content' | 'memoryType' | 'category' | 'threadId'>;

/** How many memories that were stored with `dedupe` and have another content by now may keep an id of the content. */
const idsOfContent = 8;

/**
 * The ids of a memory that is stored with `dedupe`, UUIDv8s of the fields by which two memories are the same. The first is its id; each
 * further one stands in where the memories with those before were changed since.
 */
export const idsByContent = (parts: Parts): string[] =>
  Array.from({ length: idsOfContent }, (_, place) => idByContent(parts, place));

function idByContent({ owner, content, memoryType, category, threadId = '' }: Parts, place: number): string {
  const fields = ['dedupe', owner, content, memoryType, category, threadId];
  const text = JSON.stringify(place === 0 ? fields : [...fields, place]);
  const hash = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hash.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
