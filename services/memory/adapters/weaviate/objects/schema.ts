import { ConfigError } from '@agent-workflow/kit/env';
import { unavailable } from '@agent-workflow/kit/errors';
import { missingMigrations, newestVersion, refuseOldVersion } from '@agent-workflow/runtime/data-version';
import type { EmbedderIdentity } from '../../../ports/embedder.ts';
import { termsVersion } from '../../../words/terms.ts';
import type { Weaviate } from '../client/weaviate.ts';
import type { Marks } from '../marks/marks.ts';

/** The mark `current`: the collection of the memories, the embedder of their vectors, and what their keywords are made by. */
export interface Current extends EmbedderIdentity {
  readonly collection: string;
  /** The version of the collection: that of the last of `migrations` that was applied to it. */
  readonly schema: number;
  /** The version of the terms of its memories. */
  readonly terms: number;
}

interface SchemaOptions {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  /** The prefix of the names of the service's collections. */
  readonly prefix: string;
  readonly embedder: EmbedderIdentity;
}

/** The store, as an operator reads it. */
const storeName = 'the memories at WEAVIATE_URL';

/**
 * The first migration makes the collection of the memories, and a change of it is one more. Each is applied once, in order. An interrupted
 * one is applied again.
 */
const migrations: readonly ((weaviate: Weaviate, collection: string) => Promise<unknown>)[] = [
  (weaviate, collection) => weaviate.createCollection(definitionOf(collection)),
];

/**
 * Brings the collection of memories to the schema of this version.
 * @throws ConfigError when it holds memories of another embedder or with other terms, or no version that this release reads.
 */
export async function openSchema(options: SchemaOptions): Promise<Current> {
  const known = await readCurrent(options.marks);
  if (known && isCurrent(known, options)) return known;
  return options.marks.hold('schema', async (isHeld) => {
    const stored = await readCurrent(options.marks);
    const missing = missingMigrations(migrations, stored?.schema ?? 0, storeName);
    const current = await toCurrent(stored, options);
    for (const { migration } of missing) {
      if (!isHeld()) throw unavailable('the schema of the memories is being changed by others');
      await migration(options.weaviate, current.collection);
    }
    const applied = { ...current, schema: newestVersion(migrations) };
    await options.marks.write('current', '', applied);
    return applied;
  });
}

/** @throws ConfigError when it is of a version that no release has written. */
export async function readCurrent(marks: Marks): Promise<Current | undefined> {
  const current = (await marks.read('current'))?.value as Current | undefined;
  if (current) refuseOldVersion(current.schema, storeName);
  return current;
}

const isCurrent = (known: Current, { embedder }: SchemaOptions): boolean =>
  known.schema === newestVersion(migrations) && isSame(known, embedder) && known.terms === termsVersion;

const isSame = (a: EmbedderIdentity, b: EmbedderIdentity): boolean =>
  a.model === b.model && a.dimension === b.dimension;

async function toCurrent(
  stored: Current | undefined,
  { weaviate, prefix, embedder: { model, dimension } }: SchemaOptions,
): Promise<Current> {
  if (!stored) return { collection: `${prefix}_1`, schema: 0, model, dimension, terms: termsVersion };
  const isKept = isSame(stored, { model, dimension }) && stored.terms === termsVersion;
  if (!isKept && (await weaviate.listTenants(stored.collection)).length > 0)
    throw new ConfigError(differenceOf(stored, { model, dimension }));
  return { ...stored, model, dimension, terms: termsVersion };
}

/** Why the memories cannot be searched, and what to do. */
function differenceOf(stored: Current, { model, dimension }: EmbedderIdentity): string {
  if (isSame(stored, { model, dimension }))
    return `${storeName} have keywords of version ${String(stored.terms)}, not ${String(termsVersion)}: run services/memory/reindex.ts`;
  const was = `${stored.model} (${String(stored.dimension)} numbers)`;
  return (
    `${storeName} were embedded by ${was}, not ${model} (${String(dimension)} numbers): set ` +
    'EMBEDDINGS_PROVIDER, EMBEDDINGS_MODEL and EMBEDDINGS_DIMENSION as they were, or run services/memory/reindex.ts'
  );
}

/** Creates a collection with the newest schema. @returns its version. */
export async function makeCollection(weaviate: Weaviate, collection: string): Promise<number> {
  for (const migrate of migrations) await migrate(weaviate, collection);
  return newestVersion(migrations);
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
    ...['at', 'happenedAt', 'expiresAt'].map((name) => ({ name, dataType: ['number'], indexRangeFilters: true })),
    { name: 'keys', dataType: ['text[]'], tokenization: 'field', indexSearchable: false },
    { name: 'words', dataType: ['text'], tokenization: 'whitespace', indexFilterable: false },
    ...['owner', 'memoryType', 'category', 'threadId', 'content', 'metadata', 'vectorJson', 'stamp'].map((name) => ({
      name,
      ...kept,
    })),
  ],
});
