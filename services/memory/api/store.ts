import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Call } from '@agent-workflow/protos/call';
import { memoryTypes } from '@agent-workflow/protos/lists';
import type { Memory, StoreRequest } from '@agent-workflow/protos/memory';
import { oneOf, readMetadata, refuseLate, refuseLong, refuseUnfit } from '../record/checks.ts';
import { idByContent } from '../record/id-by-content.ts';
import { embed, toRecord, type Parts } from './parts.ts';

export const createStore =
  (parts: Parts): Memory['store'] =>
  async (request, call) => {
    const { owner, content, memoryType, category, metadataJson } = request;
    refuseLate(call);
    refuseUnfit(content);
    oneOf(memoryTypes, memoryType, ['memoryType']);
    refuseLong(category, ['category']);
    readMetadata(metadataJson);
    if (request.dedupe) {
      const memoryId = idByContent(request);
      const contentAt = async (): Promise<string | undefined> => (await parts.store.get(owner, [memoryId]))[0]?.content;
      const known = await contentAt();
      if (known === content || (known === undefined && (await put(parts, { ...request, memoryId }, call))))
        return { memoryId };
      // Either a concurrent request stored the same content, or the memory with this id was changed since.
      if ((await contentAt()) === content) return { memoryId };
    }
    await put(parts, request, call);
    return { memoryId: request.memoryId };
  };

async function put(parts: Parts, request: StoreRequest, call: Call): Promise<boolean> {
  const { owner, memoryId, content, memoryType, category, metadataJson, threadId = '' } = request;
  const vector = await embed(parts, { field: 'content', text: content }, call);
  await readCancellation(call);
  const memory = toRecord(parts, { memoryId, content, memoryType, category, metadataJson, threadId, vector });
  return parts.store.put(owner, memory);
}

/**
 * Reads what has arrived on the connection. While this process was frozen, its caller may have given up, stored the memory at another
 * replica, and removed it again; a memory that is stored here now would come back.
 * @throws Cancelled or Timeout when the caller has given up.
 */
async function readCancellation(call: Call): Promise<void> {
  for (let turns = 0; turns < turnsToRead; turns += 1) await nextTurn();
  refuseLate(call);
}

/** Turns of the event loop: a request and its cancellation are read in one turn or in two, and take effect in the next. */
const turnsToRead = 3;
