import { eachOf } from '@agent-workflow/kit/each';
import { findRows, type Where } from '../client/queries.ts';
import type { Scope, Weaviate } from '../client/weaviate.ts';
import { markId } from '../marks/marks.ts';

/** A memory that expires. */
export interface Expiry {
  readonly owner: string;
  readonly memoryId: string;
  readonly expiresAt: number;
}

/**
 * Which memories expire when, of all owners in one collection, so that those of owners who rest are found. Each is written before its memory;
 * one whose memory is absent, or expires later by now, is dropped when it is due.
 */
export interface Expiries {
  readonly add: (expiries: readonly Expiry[]) => Promise<void>;
  /**
   * Calls `remove` with each that is due. Several processes may do it at once. One that fails is passed to `onFailure` and is due again later.
   */
  readonly settle: (
    at: number,
    remove: (due: Expiry) => Promise<void>,
    onFailure: (error: unknown) => void,
  ) => Promise<void>;
}

const dueAtOnce = 200;
const removedAtOnce = 4;
/** After a failure. */
const againMs = 600_000;

/** @throws Unavailable when Weaviate cannot be reached. */
export async function openExpiries(weaviate: Weaviate, collection: string): Promise<Expiries> {
  await weaviate.createCollection(definitionOf(collection));
  const scope: Scope = { collection };
  return {
    add: async (expiries) => {
      const objects = expiries.map((expiry) => ({
        ...scope,
        id: markId(expiry.owner, expiry.memoryId, String(expiry.expiresAt)),
        properties: { due: expiry.expiresAt, value: JSON.stringify(expiry) },
      }));
      const [only, ...others] = objects;
      if (only && others.length === 0) await weaviate.create(only);
      else await weaviate.putMany(objects);
    },

    settle: async (at, remove, onFailure) => {
      const where: Where = { operator: 'LessThanEqual', path: ['due'], valueNumber: at };
      for (;;) {
        const fields = 'value _additional { id }';
        const rows = await findRows(weaviate, { scope, where, fields, limit: dueAtOnce });
        await eachOf(rows, removedAtOnce, async (row) => {
          const { id } = row['_additional'] as { id: string };
          try {
            await remove(JSON.parse(String(row['value'])) as Expiry);
            await weaviate.removeMany(scope, [id]);
          } catch (error) {
            onFailure(error);
            await weaviate.replace({ ...scope, id, properties: { due: at + againMs, value: String(row['value']) } });
          }
        });
        if (rows.length < dueAtOnce) return;
      }
    },
  };
}

const definitionOf = (collection: string): Record<string, unknown> => ({
  class: collection,
  vectorizer: 'none',
  vectorIndexConfig: { skip: true },
  // One shard, so that one read sees every write before it.
  shardingConfig: { desiredCount: 1 },
  properties: [
    { name: 'due', dataType: ['number'], indexRangeFilters: true },
    { name: 'value', dataType: ['text'], indexFilterable: false, indexSearchable: false },
  ],
});
