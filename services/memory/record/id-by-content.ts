import { createHash } from 'node:crypto';
import type { StoreRequest } from '@agent-workflow/protos/memory';

type Parts = Pick<StoreRequest, 'owner' | 'content' | 'memoryType' | 'category' | 'threadId'>;

/** The id under which what is stored with `dedupe` is found again: a UUIDv8 of what makes two memories the same. */
export function idByContent({ owner, content, memoryType, category, threadId = '' }: Parts): string {
  const text = JSON.stringify(['dedupe', owner, content, memoryType, category, threadId]);
  const hash = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hash.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
