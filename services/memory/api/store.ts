import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Call } from '@agent-workflow/protos/call';
import { memoryTypes } from '@agent-workflow/protos/lists';
import type { Memory, StoreRequest } from '@agent-workflow/protos/memory';
import { oneOf, readMetadata, refuseLate, refuseLong, refuseTimes, refuseUnfit } from '../record/checks.ts';
import { idsByContent } from '../record/ids-by-content.ts';
import { isAlive } from '../record/order.ts';
import { embed, toRecord, type Parts } from './parts.ts';

export const createStore =
  (parts: Parts): Memory['store'] =>
  async (request, call) => {
    const { content, memoryType, category, metadataJson } = request;
    refuseLate(call);
    refuseUnfit(content);
    oneOf(memoryTypes, memoryType, ['memoryType']);
    refuseLong(category, ['category']);
    readMetadata(metadataJson);
    refuseTimes(request);
    if (request.dedupe) return { memoryId: await storeUnlessThere(parts, request, call) };
    await put(parts, { ...request, vector: await embedContent(parts, request, call) }, call);
    return { memoryId: request.memoryId };
  };

/** Stores the content unless one of its ids has it already, and returns the id of the one memory. */
async function storeUnlessThere(parts: Parts, request: StoreRequest, call: Call): Promise<string> {
  const { owner, content } = request;
  const ids = idsByContent(request);
  const known = await parts.store.get(owner, ids);
  const same = known.find((memory) => memory.content === content && isAlive(memory, parts.now()));
  if (same) return same.memoryId;
  const vector = await embedContent(parts, request, call);
  const taken = new Set(known.map(({ memoryId }) => memoryId));
  for (const memoryId of ids.filter((each) => !taken.has(each))) {
    if (await put(parts, { ...request, memoryId, vector }, call)) return memoryId;
    // A concurrent request stored the same content, unless the memory was changed at once.
    if ((await parts.store.get(owner, [memoryId]))[0]?.content === content) return memoryId;
  }
  await put(parts, { ...request, vector }, call);
  return request.memoryId;
}

const embedContent = async (parts: Parts, { content }: StoreRequest, call: Call): Promise<Float32Array> =>
  embed(parts, { field: 'content', text: content }, call);

type Embedded = StoreRequest & { readonly vector: Float32Array };

async function put(parts: Parts, request: Embedded, call: Call): Promise<boolean> {
  const { owner, memoryId, content, memoryType, category, metadataJson, threadId = '', vector } = request;
  const { timestamp: happenedAt, expiresAt } = request;
  await readCancellation(call);
  const fields = { memoryId, content, memoryType, category, metadataJson, threadId, happenedAt, expiresAt };
  const memory = toRecord(parts, { ...fields, vector });
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
