import { ConfigError } from '@agent-workflow/kit/env';
import { unavailable } from '@agent-workflow/kit/errors';
import type { EmbedderIdentity } from '../../../ports/embedder.ts';
import { termsVersion } from '../../../words/terms.ts';
import type { Weaviate } from '../client/weaviate.ts';
import type { Marks } from '../marks/marks.ts';

/** The mark `current`: the collection of the memories, and the embedder of their vectors. */
export interface Current extends EmbedderIdentity {
  readonly collection: string;
  /** How many of `migrations` were applied to the collection. */
  readonly schema: number;
  /** The version of the terms of all its memories; absent where some have those of version 1. */
  readonly terms?: number;
}

interface SchemaOptions {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  /** The prefix of the names of the service's collections. */
  readonly prefix: string;
  readonly embedder: EmbedderIdentity;
}

/**
 * The schema, oldest first: only ever append. Each is applied once, in order, to a collection of memories. An interrupted one is applied
 * again.
 */
const migrations: readonly ((weaviate: Weaviate, collection: string) => Promise<unknown>)[] = [
  (weaviate, collection) => weaviate.createCollection(definitionOf(collection)),
  async (weaviate, collection) => {
    for (const name of ['happenedAt', 'expiresAt'])
      await weaviate.addProperty(collection, { name, dataType: ['number'], indexRangeFilters: true });
  },
];

/**
 * Brings the collection of memories to the schema of this version.
 * @throws ConfigError when it holds memories of another embedder, or a newer version wrote it.
 */
export async function openSchema(options: SchemaOptions): Promise<Current> {
  const known = await readCurrent(options.marks);
  if (known && isCurrent(known, options)) return known;
  return options.marks.hold('schema', async (isHeld) => {
    const stored = await readCurrent(options.marks);
    const current = await toCurrent(stored, options);
    for (const migrate of migrations.slice(current.schema)) {
      if (!isHeld()) throw unavailable('the schema of the memories is being changed by others');
      await migrate(options.weaviate, current.collection);
    }
    const applied = { ...current, schema: migrations.length };
    await options.marks.write('current', '', applied);
    return applied;
  });
}

export const readCurrent = async (marks: Marks): Promise<Current | undefined> =>
  (await marks.read('current'))?.value as Current | undefined;

function isCurrent({ schema, ...identity }: Current, { embedder }: SchemaOptions): boolean {
  return schema === migrations.length && isSame(identity, embedder);
}

const isSame = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  a.model === b.model && a.dimension === b.dimension;

async function toCurrent(
  stored: Current | undefined,
  { weaviate, prefix, embedder: { model, dimension } }: SchemaOptions,
): Promise<Current> {
  if (!stored) return { collection: `${prefix}_1`, schema: 0, model, dimension, terms: termsVersion };
  if (stored.schema > migrations.length) {
    const versions = `schema ${String(stored.schema)}, known ${String(migrations.length)}`;
    throw new ConfigError(`the memories at WEAVIATE_URL were written by a newer version (${versions})`);
  }
  if (!isSame(stored, { model, dimension }) && (await weaviate.listTenants(stored.collection)).length > 0) {
    const was = `${stored.model} (${String(stored.dimension)} numbers)`;
    throw new ConfigError(
      `the memories at WEAVIATE_URL were embedded by ${was}, not ${model} (${String(dimension)} numbers): set ` +
        'EMBEDDINGS_PROVIDER, EMBEDDINGS_MODEL and EMBEDDINGS_DIMENSION as they were, or run services/memory/reindex.ts',
    );
  }
  return { ...stored, model, dimension };
}

/** Creates a collection with the newest schema. @returns the number of that schema. */
export async function makeCollection(weaviate: Weaviate, collection: string): Promise<number> {
  for (const migrate of migrations) await migrate(weaviate, collection);
  return migrations.length;
}

const kept = { dataType: ['text'], indexFilterable: false, indexSearchable: false };

/**
 * Tenants are created and activated by use. The index is `flat`; the README says why. The property `keys` has what filters compare, hashed,
 * so that no text of a caller is part of an index or a query.
 */
const definitionOf = (collection: string): Record<string, unknown> => ({
  class: collection,
  vectorizer: 'none',
  vectorIndexType: 'flat',
  vectorIndexConfig: { distance: 'cosine' },
  multiTenancyConfig: { enabled: true, autoTenantCreation: true, autoTenantActivation: true },
  invertedIndexConfig: { indexTimestamps: true, stopwords: { preset: 'none' }, bm25: { k1: 1.2, b: 0.75 } },
  properties: [
    { name: 'idHex', dataType: ['text'], tokenization: 'field', indexSearchable: false },
    { name: 'at', dataType: ['number'], indexRangeFilters: true },
    { name: 'keys', dataType: ['text[]'], tokenization: 'field', indexSearchable: false },
    { name: 'words', dataType: ['text'], tokenization: 'whitespace', indexFilterable: false },
    ...['owner', 'memoryType', 'category', 'threadId', 'content', 'metadata', 'vectorJson', 'stamp'].map((name) => ({
      name,
      ...kept,
    })),
  ],
});
