import { randomUUID } from 'node:crypto';
import { fromKeptRemoval, fromKeptUpdate, toKeptRemoval, toKeptUpdate, toRemoved } from '../../../record/outcomes.ts';
import type { IdempotentRequest, RemovedMemories, UpdatedMemory } from '../../../ports/records.ts';
import type { NewObject, Weaviate } from '../client/weaviate.ts';
import { markId } from '../marks/marks.ts';
import { requestId, untilOf, type StampedRequest } from '../objects/stamps.ts';
import { findRows, type Where } from '../client/queries.ts';

/** The memories that a request removes, decided once. */
interface Removal {
  readonly removed: RemovedMemories;
  /** Whether all of them are removed. */
  readonly isDone: boolean;
  /** The ids of all of them, some at a time. */
  readonly memoryIds: () => AsyncIterable<readonly string[]>;
}

/**
 * Outcomes of requests that may be sent again. Each is an object of a collection of its own, whose id follows from owner and request.
 *
 * Weaviate writes one object at a time, so an outcome and its effect are two writes. Their order keeps them consistent:
 * - An update names its request in the `stamp` of the memory, in the same write that changes the memory. The stamp shows that the update
 *   was applied, and the memory is its outcome. The next change or removal of the memory first writes the outcome to this collection
 *   (`keepUpdated`), so the outcome is always in one of the two places. An update that nothing follows needs no second write.
 * - A removal writes the list of what it removes before it removes anything. Sent again, it continues with that list and ignores memories
 *   that were stored since. Two replicas that get one request in the same few milliseconds may both write a list, of which one is
 *   kept; everything that either removes existed while both were running.
 *
 * No call waits for another process, so a frozen or killed replica delays no request that is sent again elsewhere.
 */
export interface Requests {
  readonly findUpdated: (owner: string, request: IdempotentRequest) => Promise<UpdatedMemory | undefined>;
  /** Keeps the outcome of the update that a memory's stamp names, unless it is kept already. */
  readonly keepUpdated: (request: StampedRequest, memory: UpdatedMemory) => Promise<void>;
  readonly findRemoval: (owner: string, request: IdempotentRequest) => Promise<Removal | undefined>;
  /** Writes the list of what a request removes; returns the list that is kept, which another call of the request may have written. */
  readonly beginRemoval: (owner: string, request: IdempotentRequest, memoryIds: readonly string[]) => Promise<Removal>;
  /** Marks the removal as done. */
  readonly endRemoval: (owner: string, request: IdempotentRequest) => Promise<void>;
  /** Deletes expired outcomes. Several processes may do it at once. */
  readonly expire: () => Promise<void>;
}

interface RequestsOptions {
  readonly weaviate: Weaviate;
  readonly collection: string;
  /** How many bytes of ids one object holds. */
  readonly partBytes?: number;
}

/** @throws Unavailable when Weaviate cannot be reached. */
export async function openRequests({
  weaviate,
  collection,
  partBytes = 1024 * 1024,
}: RequestsOptions): Promise<Requests> {
  await weaviate.createCollection(definitionOf(collection));
  const scope = { collection };
  const toObject = (id: string, until: number, value: Uint8Array | string): NewObject => ({
    ...scope,
    id,
    properties: { until, value: typeof value === 'string' ? value : Buffer.from(value).toString() },
  });
  const read = async (id: string, now: number): Promise<Uint8Array | undefined> => {
    const properties = (await weaviate.find(scope, id))?.properties;
    return properties && Number(properties['until']) > now ? Buffer.from(String(properties['value'])) : undefined;
  };

  async function* memoryIdsOf({ list, parts, until }: KeptRemoval): AsyncGenerator<readonly string[]> {
    for (let index = 0; index < parts; index += 1) {
      const part = await read(markId('part', list, String(index)), 0);
      if (!part) throw new Error(`part ${String(index)} of a removal that is kept until ${String(until)} is missing`);
      yield JSON.parse(part.toString()) as readonly string[];
    }
  }
  const toRemoval = (kept: KeptRemoval): Removal => ({
    removed: fromKeptRemoval(Buffer.from(kept.removed)),
    isDone: kept.isDone,
    memoryIds: () => memoryIdsOf(kept),
  });
  const readRemoval = async (owner: string, request: IdempotentRequest): Promise<KeptRemoval | undefined> => {
    const value = await read(requestId(owner, request), request.at);
    return value && (JSON.parse(value.toString()) as KeptRemoval);
  };

  return {
    findUpdated: async (owner, request) => {
      const value = await read(requestId(owner, request), request.at);
      return value && fromKeptUpdate(value);
    },

    keepUpdated: async ({ id, until }, memory) => {
      await weaviate.create(toObject(id, until, toKeptUpdate(memory)));
    },

    findRemoval: async (owner, request) => {
      const kept = await readRemoval(owner, request);
      return kept && toRemoval(kept);
    },

    beginRemoval: async (owner, request, memoryIds) => {
      const until = untilOf(request);
      const list = randomUUID();
      const parts = partsOf(memoryIds, partBytes);
      // The parts are written first: the list is complete when the object that names them exists.
      for (const [index, part] of parts.entries())
        await weaviate.create(toObject(markId('part', list, String(index)), until, JSON.stringify(part)));
      const removed = Buffer.from(toKeptRemoval(toRemoved(memoryIds))).toString();
      const own: KeptRemoval = { removed, isDone: false, list, parts: parts.length, until };
      const object = toObject(requestId(owner, request), until, JSON.stringify(own));
      if (!(await weaviate.create(object)) && !(await readRemoval(owner, request))) await weaviate.replace(object);
      return toRemoval((await readRemoval(owner, request)) ?? own);
    },

    endRemoval: async (owner, request) => {
      const kept = await readRemoval(owner, request);
      if (!kept || kept.isDone) return;
      const value = JSON.stringify({ ...kept, isDone: true });
      await weaviate.replace(toObject(requestId(owner, request), kept.until, value));
    },

    expire: async () => {
      for (;;) {
        const where: Where = { operator: 'LessThan', path: ['until'], valueNumber: Date.now() };
        const rows = await findRows(weaviate, { scope, where, fields: '_additional { id }', limit: expiredAtOnce });
        const ids = rows.map((row) => (row['_additional'] as { id: string }).id);
        const gone = await weaviate.removeMany(scope, ids);
        if (rows.length < expiredAtOnce || gone.length === 0) return;
      }
    },
  };
}

const expiredAtOnce = 1000;

/** A removal as JSON in an object's `value`. */
interface KeptRemoval {
  /** JSON text. */
  readonly removed: string;
  readonly isDone: boolean;
  /** The name of its list of ids, and how many parts the list has. */
  readonly list: string;
  readonly parts: number;
  readonly until: number;
}

function partsOf(memoryIds: readonly string[], partBytes: number): string[][] {
  const parts: string[][] = [];
  let left = 0;
  for (const memoryId of memoryIds) {
    left -= Buffer.byteLength(memoryId);
    if (left < 0) {
      parts.push([]);
      left = partBytes - Buffer.byteLength(memoryId);
    }
    parts.at(-1)?.push(memoryId);
  }
  return parts;
}

const definitionOf = (collection: string): Record<string, unknown> => ({
  class: collection,
  vectorizer: 'none',
  vectorIndexConfig: { skip: true },
  // One shard, so that one read sees every write before it.
  shardingConfig: { desiredCount: 1 },
  properties: [
    { name: 'until', dataType: ['number'], indexRangeFilters: true },
    { name: 'value', dataType: ['text'], indexFilterable: false, indexSearchable: false },
  ],
});
