import { createHash } from 'node:crypto';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Weaviate } from '../client/weaviate.ts';
import { createLocks, type Locks } from './locks.ts';
import { equals, findRows } from '../client/queries.ts';

/** A value that the processes of the service share. */
export interface Mark {
  readonly value: unknown;
  /** By the server's clock: milliseconds since 1970 UTC. */
  readonly updatedAt: number;
}

/** What the processes of the service share beside the memories: marks and locks, by kind and key. They are in their own collection. */
export interface Marks extends Locks {
  readonly read: (kind: string, key?: string) => Promise<Mark | undefined>;
  /** @throws Unavailable when other processes create and clear the mark all the time. */
  readonly write: (kind: string, key: string, value: unknown) => Promise<void>;
  readonly clear: (kind: string, key: string) => Promise<void>;
  readonly list: (kind: string) => Promise<Mark[]>;
  /** The server's clock, by which it sets the time of a write: milliseconds since 1970 UTC. */
  readonly readClock: () => Promise<number>;
}

const maxMarks = 1000;
const maxWrites = 3;

/** @throws Unavailable when Weaviate cannot be reached. */
export async function openMarks(weaviate: Weaviate, collection: string): Promise<Marks> {
  await weaviate.createCollection(definitionOf(collection));
  const scope = { collection };

  const read: Marks['read'] = async (kind, key = '') => {
    const found = await weaviate.find(scope, markId(kind, key));
    return found && { value: JSON.parse(String(found.properties['value'])) as unknown, updatedAt: found.updatedAt };
  };
  const write: Marks['write'] = async (kind, key, value) => {
    const object = { ...scope, id: markId(kind, key), properties: { kind, key, value: JSON.stringify(value) } };
    for (let writes = 0; writes < maxWrites; writes += 1) {
      if ((await weaviate.replace(object)) || (await weaviate.create(object))) return;
    }
    throw unavailable('the marks of the memories are being changed by others');
  };

  return {
    ...createLocks(weaviate, collection),
    read,
    write,
    clear: async (kind, key) => {
      await weaviate.removeMany(scope, [markId(kind, key)]);
    },
    list: async (kind) => {
      const where = equals('kind', kind);
      const fields = 'value _additional { lastUpdateTimeUnix }';
      return (await findRows(weaviate, { scope, where, fields, limit: maxMarks })).map(toMark);
    },
    readClock: async () => {
      await write('clock', '', 0);
      return (await read('clock'))?.updatedAt ?? 0;
    },
  };
}

function toMark(row: Readonly<Record<string, unknown>>): Mark {
  const { lastUpdateTimeUnix } = row['_additional'] as { lastUpdateTimeUnix: string };
  return { value: JSON.parse(String(row['value'])) as unknown, updatedAt: Number(lastUpdateTimeUnix) };
}

/** An object id that follows from these texts. */
export const markId = (...names: readonly string[]): string => {
  const hash = createHash('sha256').update(JSON.stringify(names)).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
};

const definitionOf = (collection: string): Record<string, unknown> => ({
  class: collection,
  vectorizer: 'none',
  vectorIndexConfig: { skip: true },
  // One shard, so that one read sees every write before it.
  shardingConfig: { desiredCount: 1 },
  properties: [
    { name: 'kind', dataType: ['text'], tokenization: 'field', indexSearchable: false },
    { name: 'key', dataType: ['text'], tokenization: 'field', indexSearchable: false },
    { name: 'value', dataType: ['text'], indexFilterable: false, indexSearchable: false },
  ],
});
