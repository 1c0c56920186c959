import { randomUUID } from 'node:crypto';
import { fromKeptRemoval, fromKeptUpdate, toKeptRemoval, toKeptUpdate, toRemoved } from '../../record/outcomes.ts';
import type { RemovedMemories, SentRequest, UpdatedMemory } from '../../ports/port.ts';
import type { NewObject, Weaviate } from './client.ts';
import { markId } from './marks.ts';
import { findRows, type Where } from './queries.ts';

/** A request as the stamp of a memory names it. */
export interface StampedRequest {
  /** Of the object that keeps its outcome. */
  readonly id: string;
  /** Until when it is known: milliseconds since 1970 UTC. */
  readonly until: number;
}

/** What a request is to remove, decided once. */
export interface Removal {
  readonly removed: RemovedMemories;
  /** Whether all of it is gone. */
  readonly isDone: boolean;
  /** All ids that are to go, some at a time. */
  readonly memoryIds: () => AsyncIterable<readonly string[]>;
}

/**
 * Outcomes of requests that may be sent again, each an object beside the memories whose id follows from owner and request.
 *
 * Weaviate writes one object at a time, so an outcome cannot be written together with its effect. The order of the two makes up for it:
 * - An update names its request in the `stamp` of the memory, in the one write that changes it. That alone says that the update was
 *   applied, and the memory is its outcome. Whoever changes or removes the memory next writes the outcome down before
 *   (`keepUpdated`), so no update is ever lost from both places. An update that nothing follows costs no write more.
 * - A removal writes down what it is to remove before it removes anything. Sent again, it goes on with that list, whatever stands now,
 *   and so never removes what came since. Two replicas that get one request in the same few milliseconds may both write down a
 *   list, of which one stands; what either removes stood when both were under way.
 *
 * No call waits for another process, so a frozen or killed replica holds up nobody who sends its request again elsewhere.
 */
export interface Requests {
  readonly findUpdated: (owner: string, request: SentRequest) => Promise<UpdatedMemory | undefined>;
  /** Writes down the outcome of the update that a memory's stamp names, unless it is known. */
  readonly keepUpdated: (request: StampedRequest, memory: UpdatedMemory) => Promise<void>;
  readonly findRemoval: (owner: string, request: SentRequest) => Promise<Removal | undefined>;
  /** Writes down what a request is to remove; gives what stands, which another call of it may have written. */
  readonly beginRemoval: (owner: string, request: SentRequest, memoryIds: readonly string[]) => Promise<Removal>;
  /** Says that all of it is gone. */
  readonly endRemoval: (owner: string, request: SentRequest) => Promise<void>;
  /** Forgets what is no longer known. Many may do it at once. */
  readonly expire: () => Promise<void>;
}

interface RequestsOptions {
  readonly weaviate: Weaviate;
  readonly collection: string;
  /** How many bytes of ids one object holds. */
  readonly partBytes?: number;
}

/** The id of the object that keeps the outcome of a request: the same each time. */
export const requestId = (owner: string, { id }: SentRequest): string => markId('request', owner, id);

export const untilOf = ({ at, keptMs }: SentRequest): number => at + keptMs;

/** @throws Unavailable when Weaviate is away. */
export async function openRequests({
  weaviate,
  collection,
  partBytes = 1024 * 1024,
}: RequestsOptions): Promise<Requests> {
  await weaviate.createCollection(definitionOf(collection));
  const home = { collection };
  const toObject = (id: string, until: number, value: Uint8Array | string): NewObject => ({
    ...home,
    id,
    properties: { until, value: typeof value === 'string' ? value : Buffer.from(value).toString() },
  });
  const read = async (id: string, now: number): Promise<Uint8Array | undefined> => {
    const properties = (await weaviate.find(home, id))?.properties;
    return properties && Number(properties['until']) > now ? Buffer.from(String(properties['value'])) : undefined;
  };

  async function* memoryIdsOf({ list, parts, until }: KeptRemoval): AsyncGenerator<readonly string[]> {
    for (let place = 0; place < parts; place += 1) {
      const part = await read(markId('part', list, String(place)), 0);
      if (!part) throw new Error(`part ${String(place)} of a removal that is kept until ${String(until)} is missing`);
      yield JSON.parse(part.toString()) as readonly string[];
    }
  }
  const toRemoval = (kept: KeptRemoval): Removal => ({
    removed: fromKeptRemoval(Buffer.from(kept.removed)),
    isDone: kept.isDone,
    memoryIds: () => memoryIdsOf(kept),
  });
  const readRemoval = async (owner: string, request: SentRequest): Promise<KeptRemoval | undefined> => {
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
      // The parts come first: the list is there once the object that names them is.
      for (const [place, part] of parts.entries())
        await weaviate.create(toObject(markId('part', list, String(place)), until, JSON.stringify(part)));
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
        const rows = await findRows(weaviate, { home, where, fields: '_additional { id }', limit: expiredAtOnce });
        const ids = rows.map((row) => (row['_additional'] as { id: string }).id);
        const gone = await weaviate.removeMany(home, ids);
        if (rows.length < expiredAtOnce || gone.length === 0) return;
      }
    },
  };
}

const expiredAtOnce = 1000;

/** A removal as it is kept. */
interface KeptRemoval {
  /** JSON text. */
  readonly removed: string;
  readonly isDone: boolean;
  /** Names its list of ids, and how many parts that has. */
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
  // One shard, so that one look sees all that was written before it.
  shardingConfig: { desiredCount: 1 },
  properties: [
    { name: 'until', dataType: ['number'], indexRangeFilters: true },
    { name: 'value', dataType: ['text'], indexFilterable: false, indexSearchable: false },
  ],
});
