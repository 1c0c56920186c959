import { createHash, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { unavailable } from '@agent-workflow/kit/errors';
import type { Weaviate } from './weaviate-client.ts';
import { allOf, findRows, type Where } from './weaviate-queries.ts';

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
}

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

  return {
    read: async (kind, key = '') => {
      const found = await weaviate.find(home, markId(kind, key));
      return found && { value: JSON.parse(String(found.properties['value'])) as unknown, updatedAt: found.updatedAt };
    },
    write: async (kind, key, value) => {
      const object = { ...home, id: markId(kind, key), properties: { kind, key, value: JSON.stringify(value) } };
      for (let tries = 0; tries < 3; tries += 1) {
        if ((await weaviate.replace(object)) || (await weaviate.create(object))) return;
      }
    },
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
  };
}

interface Intent extends Mark {
  readonly id: string;
}

const markFields = 'value _additional { id lastUpdateTimeUnix }';
const maxMarks = 1000;

function toIntent(row: Readonly<Record<string, unknown>>): Intent {
  const { id, lastUpdateTimeUnix } = row['_additional'] as { id: string; lastUpdateTimeUnix: string };
  const text = String(row['value']);
  const value: unknown = text === '' ? undefined : JSON.parse(text);
  return { id, value, updatedAt: Number(lastUpdateTimeUnix) };
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
