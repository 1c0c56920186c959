import { createHash, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Weaviate } from './client.ts';
import { allOf, findRows, type Where } from './queries.ts';

export interface Mark {
  readonly value: unknown;
  /** By the server's clock: milliseconds since 1970 UTC. */
  readonly updatedAt: number;
}

/** What the service notes down beside the memories, in a collection of its own. */
export interface Marks {
  readonly read: (kind: string, key?: string) => Promise<Mark | undefined>;
  readonly write: (kind: string, key: string, value: unknown) => Promise<void>;
  readonly clear: (kind: string, key: string) => Promise<void>;
  readonly list: (kind: string) => Promise<Mark[]>;
  /**
   * Does `work` while nobody else holds `key`, whatever process they are of. A holder that died is waited for no longer than
   * `leaseMs`; `work` asks `isHeld` before it writes.
   * @throws Unavailable when the key does not become free in time.
   */
  readonly hold: <T>(key: string, work: (isHeld: () => boolean) => Promise<T>) => Promise<T>;
  /**
   * Does `work` with those of `keys` that nobody else holds just now, at most `keysAtOnce` of them: a few requests for all of them
   * together. The others are left out.
   */
  readonly holdFree: <T>(
    keys: readonly string[],
    work: (free: readonly string[], isHeld: () => boolean) => Promise<T>,
  ) => Promise<T>;
  /** The server's clock, by which it says when an object was written: milliseconds since 1970 UTC. */
  readonly readClock: () => Promise<number>;
}

/** How many keys `holdFree` takes in one go. */
export const keysAtOnce = 64;

/** How long whoever holds a key is believed to live. */
const leaseMs = 30_000;
/** Until when a holder may begin its write: what is left is for the write itself. */
const mayWriteMs = 10_000;
const waitMs = 8000;

/** @throws Unavailable when Weaviate is away. */
export async function openMarks(weaviate: Weaviate, collection: string): Promise<Marks> {
  await weaviate.createCollection(definitionOf(collection));
  const home = { collection };
  const whereIs = (kind: string, key?: string): Where | undefined =>
    allOf([equals('kind', kind), key === undefined ? undefined : equals('key', key)]);
  const find = async (where: Where | undefined): Promise<Intent[]> => {
    const rows = await findRows(weaviate, { home, where, fields: markFields, limit: maxMarks });
    return rows.map(toIntent);
  };

  /** Whether nobody else is at the key; what others left there when they died is removed. */
  const isAlone = async (key: string, own: string): Promise<boolean> => {
    const intents = await find(whereIs('intent', key));
    const now = intents.find(({ id }) => id === own)?.updatedAt ?? 0;
    const others = intents.filter(({ id }) => id !== own);
    const dead = others.filter(({ updatedAt }) => updatedAt < now - leaseMs).map(({ id }) => id);
    await weaviate.removeMany(home, dead);
    return others.length === dead.length;
  };

  // Each writes down that it wants the key, and only then looks who else does. Of two at once, at least one sees the other; whoever
  // sees anybody steps back. So no two hold the key, without any write that depends on another.
  const take = async (key: string): Promise<string> => {
    const giveUpAt = Date.now() + waitMs;
    for (let pauseMs = 4; ; pauseMs = Math.min(pauseMs * 2, 200)) {
      const own = randomUUID();
      await weaviate.create({ ...home, id: own, properties: { kind: 'intent', key, value: '' } });
      const alone = await isAlone(key, own).catch(async (error: unknown) => {
        await weaviate.removeMany(home, [own]).catch(() => []);
        throw error;
      });
      if (alone) return own;
      await weaviate.removeMany(home, [own]);
      if (Date.now() > giveUpAt) throw unavailable('the memory is being changed by others');
      await wait(randomInt(pauseMs, pauseMs * 3));
    }
  };

  // The same for many keys, but whoever meets somebody leaves that key instead of waiting for it.
  const takeFree = async (keys: readonly string[]): Promise<Map<string, string>> => {
    const own = new Map<string, string>(keys.map((key) => [key, randomUUID()]));
    const ids = new Set<string>(own.values());
    const objects = [...own].map(([key, id]) => ({ ...home, id, properties: { kind: 'intent', key, value: '' } }));
    try {
      await weaviate.putMany(objects);
      const intents = await find(
        allOf([equals('kind', 'intent'), { operator: 'ContainsAny', path: ['key'], valueText: keys }]),
      );
      const isWhole = intents.length < maxMarks;
      const now = Math.max(0, ...intents.filter(({ id }) => ids.has(id)).map(({ updatedAt }) => updatedAt));
      const others = intents.filter(({ id, updatedAt }) => !ids.has(id) && updatedAt >= now - leaseMs);
      const contested = isWhole ? others.map(({ key }) => key) : keys;
      const lost = contested.flatMap((key) => own.get(key) ?? []);
      await weaviate.removeMany(home, lost);
      for (const key of contested) own.delete(key);
      return own;
    } catch (error) {
      await weaviate.removeMany(home, [...ids]).catch(() => []);
      throw error;
    }
  };

  const read: Marks['read'] = async (kind, key = '') => {
    const found = await weaviate.find(home, markId(kind, key));
    return found && { value: JSON.parse(String(found.properties['value'])) as unknown, updatedAt: found.updatedAt };
  };
  const write: Marks['write'] = async (kind, key, value) => {
    const object = { ...home, id: markId(kind, key), properties: { kind, key, value: JSON.stringify(value) } };
    for (let tries = 0; tries < 3; tries += 1) {
      if ((await weaviate.replace(object)) || (await weaviate.create(object))) return;
    }
  };

  return {
    read,
    write,
    clear: async (kind, key) => {
      await weaviate.removeMany(home, [markId(kind, key)]);
    },
    list: async (kind) => find(whereIs(kind)),
    hold: async (key, work) => {
      const own = await take(key);
      const mayWriteUntil = Date.now() + mayWriteMs;
      try {
        return await work(() => Date.now() < mayWriteUntil);
      } finally {
        // What stays behind because Weaviate is away just now is removed by the next who wants the key.
        await weaviate.removeMany(home, [own]).catch(() => []);
      }
    },
    holdFree: async (keys, work) => {
      const own = await takeFree(keys.slice(0, keysAtOnce));
      const mayWriteUntil = Date.now() + mayWriteMs;
      try {
        return await work([...own.keys()], () => Date.now() < mayWriteUntil);
      } finally {
        await weaviate.removeMany(home, [...own.values()]).catch(() => []);
      }
    },
    readClock: async () => {
      await write('clock', '', 0);
      return (await read('clock'))?.updatedAt ?? 0;
    },
  };
}

interface Intent extends Mark {
  readonly id: string;
  readonly key: string;
}

const markFields = 'key value _additional { id lastUpdateTimeUnix }';
const maxMarks = 1000;

function toIntent(row: Readonly<Record<string, unknown>>): Intent {
  const { id, lastUpdateTimeUnix } = row['_additional'] as { id: string; lastUpdateTimeUnix: string };
  const text = String(row['value']);
  const value: unknown = text === '' ? undefined : JSON.parse(text);
  return { id, key: String(row['key']), value, updatedAt: Number(lastUpdateTimeUnix) };
}

const equals = (path: string, valueText: string): Where => ({ operator: 'Equal', path: [path], valueText });

/** The id of what is known by these texts: the same each time. */
export const markId = (...names: readonly string[]): string => {
  const hash = createHash('sha256').update(JSON.stringify(names)).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
};

const definitionOf = (collection: string): Record<string, unknown> => ({
  class: collection,
  vectorizer: 'none',
  vectorIndexConfig: { skip: true },
  // One shard, so that one look sees all that was written before it.
  shardingConfig: { desiredCount: 1 },
  properties: [
    { name: 'kind', dataType: ['text'], tokenization: 'field', indexSearchable: false },
    { name: 'key', dataType: ['text'], tokenization: 'field', indexSearchable: false },
    { name: 'value', dataType: ['text'], indexFilterable: false, indexSearchable: false },
  ],
});
