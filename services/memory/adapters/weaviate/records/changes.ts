import { randomUUID } from 'node:crypto';
import { unavailable } from '@agent-workflow/kit/errors';
import { equals, findRows, maxResults, type Where } from '../client/queries.ts';
import type { Scope, Weaviate } from '../client/weaviate.ts';

/** Objects that are about to be replaced, by their ids, or how many are about to be removed. */
interface Announcement {
  readonly replaced: readonly string[];
  readonly removed: number;
}

/** What was announced in a tenant of late. */
interface RecentChanges {
  /** The ids of the objects that were replaced, or are being replaced. */
  readonly replaced: ReadonlySet<string>;
  /** No query that has ended within `followMs` has missed more objects than that. */
  readonly count: number;
}

/**
 * A query of Weaviate first finds the numbers of objects and then reads the objects, and a replacement gives the object a new number
 * and then changes the indexes one after another. So a query misses an object that is being replaced, and returns fewer objects than
 * it was asked for though there are more. Only reads by id and walks in the order of ids see every object.
 *
 * Each process announces what it replaces and removes before it does so. A reader reads the announcements after its queries: what is
 * not among them was missed by none, and the others are read by their ids. An announcement is an object that is created and never
 * replaced, so every query finds it.
 */
export interface Changes {
  /** Resolves when every reader sees it. */
  readonly announce: (tenant: string, change: Partial<Announcement>) => Promise<void>;
  readonly recent: (tenant: string) => Promise<RecentChanges>;
  /** Deletes expired announcements. Several processes may do it at once. */
  readonly expire: () => Promise<void>;
}

/** A write takes effect at most 30 s after it is announced, and a query that it disturbs has ended 10 s later. */
const keptMs = 45_000;

/** @throws Unavailable when Weaviate cannot be reached. */
export async function openChanges(weaviate: Weaviate, collection: string): Promise<Changes> {
  await weaviate.createCollection(definitionOf(collection));
  const scope = { collection };
  return {
    announce: async (tenant, { replaced = [], removed = 0 }) => {
      const properties = { tenant, until: Date.now() + keptMs, value: JSON.stringify({ replaced, removed }) };
      await weaviate.create({ ...scope, id: randomUUID(), properties });
    },

    recent: async (tenant) => {
      const rows = await findRows(weaviate, {
        scope,
        where: equals('tenant', tenant),
        fields: 'value',
        limit: maxResults,
      });
      if (rows.length >= maxResults) throw unavailable('the memories are being changed too fast');
      const all = rows.map(({ value }) => JSON.parse(String(value)) as Announcement);
      return {
        replaced: new Set(all.flatMap(({ replaced }) => replaced)),
        count: all.reduce((sum, { replaced, removed }) => sum + replaced.length + removed, 0),
      };
    },

    expire: async () => {
      const where: Where = { operator: 'LessThan', path: ['until'], valueNumber: Date.now() };
      for (let left = maxResults; left > 0; left -= expiredAtOnce) {
        const rows = await findRows(weaviate, { scope, where, fields: '_additional { id }', limit: expiredAtOnce });
        await weaviate.removeMany(
          scope,
          rows.map((row) => (row['_additional'] as { id: string }).id),
        );
        if (rows.length < expiredAtOnce) return;
      }
    },
  };
}

const expiredAtOnce = 1000;

/** The changes of one tenant during one read. */
export interface FollowedChanges {
  /** Is called before each query. */
  readonly begin: () => void;
  /** What the queries that have ended may have missed. */
  readonly collect: () => Promise<RecentChanges>;
  /** The same for a read that goes on: only every `followMs`. */
  readonly collectInTime: () => Promise<void>;
}

const followMs = 5000;

export function followChanges(changes: Changes, { tenant = '' }: Scope): FollowedChanges {
  const replaced = new Set<string>();
  let last: RecentChanges | undefined;
  let collectedAt = Date.now();
  const collect = async (): Promise<RecentChanges> => {
    if (last) return last;
    const recent = await changes.recent(tenant);
    collectedAt = Date.now();
    for (const id of recent.replaced) replaced.add(id);
    return (last = { replaced, count: recent.count });
  };
  return {
    begin: () => {
      last = undefined;
    },
    collect,
    collectInTime: async () => {
      if (Date.now() - collectedAt > followMs) await collect();
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
    { name: 'tenant', dataType: ['text'], tokenization: 'field', indexSearchable: false },
    { name: 'until', dataType: ['number'], indexRangeFilters: true },
    { name: 'value', dataType: ['text'], indexFilterable: false, indexSearchable: false },
  ],
});
