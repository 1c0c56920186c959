import { userIdOf } from '@agent-workflow/kit/ids';
import type { MemoryItem } from '@agent-workflow/protos/memory';
import { jsonText, timeText } from '../../../../http/json.ts';

/** Memories as a JSON array of MemoryResult. */
export const memoriesText = (items: readonly MemoryItem[], owner: string): string =>
  `[${items.map((item) => memoryText(item, owner)).join(',')}]`;

/** Put together as text, because a list holds up to a thousand of them. */
export const memoryText = (item: MemoryItem, owner: string): string =>
  `{"id":${JSON.stringify(item.memoryId)},"content":${JSON.stringify(item.content)},"score":${String(item.score)},` +
  `"memory_type":${JSON.stringify(item.memoryType)},"category":${JSON.stringify(item.category)},` +
  `"metadata":${jsonText(item.metadataJson)},"vector":${jsonText(item.vectorJson)},` +
  `"user_id":${JSON.stringify(userIdOf(owner) ?? '')},"thread_id":${JSON.stringify(item.threadId)},"timestamp":${timeText(item.timestamp)}` +
  `${item.expiresAt === undefined ? '' : `,"expires_at":${timeText(item.expiresAt)}`}}`;
