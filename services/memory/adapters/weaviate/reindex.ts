import { ConfigError } from '@agent-workflow/kit/env';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Reindex } from '../../ports/backup.ts';
import { termsVersion } from '../../words/terms.ts';
import { createWeaviate } from './client/client.ts';
import type { Weaviate, WeaviateConnection } from './client/weaviate.ts';
import { openMarks, type Marks } from './marks/marks.ts';
import { openPresence } from './marks/presence.ts';
import { countRows } from './client/queries.ts';
import { makeCollection, readCurrent, type Current } from './objects/schema.ts';
import { openChanges } from './records/changes.ts';
import { openExpiries } from './records/expiries.ts';
import { createBackup } from './backup.ts';

interface ReindexOptions extends WeaviateConnection {
  readonly prefix: string;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Begins with an empty collection; those of earlier attempts are dropped.
 * @throws ConfigError when a memory service is running, or there are no memories.
 */
export async function openReindex(options: ReindexOptions): Promise<Reindex> {
  const { prefix, onFailure } = options;
  const weaviate = await createWeaviate(options);
  const marks = await openMarks(weaviate, `${prefix}Marks`);
  const presence = await openPresence(marks, 'copying', { unless: ['serving', 'copying'], onFailure });
  if (!presence) throw new ConfigError('a memory service, or another reindex, is at work: stop it first');
  try {
    return await begin({ weaviate, marks, prefix, presence, onFailure });
  } catch (error) {
    await presence[Symbol.asyncDispose]();
    throw error;
  }
}

interface Parts {
  readonly weaviate: Weaviate;
  readonly marks: Marks;
  readonly prefix: string;
  readonly presence: AsyncDisposable;
  readonly onFailure: (error: unknown) => void;
}

async function begin({ weaviate, marks, prefix, presence, onFailure }: Parts): Promise<Reindex> {
  const current = await readCurrent(marks);
  if (!current) throw new ConfigError('there are no memories at WEAVIATE_URL');
  const { collection } = current;
  const target = nextName(prefix, current);
  await dropOthers(weaviate, prefix, collection);
  const schema = await makeCollection(weaviate, target);
  const changes = await openChanges(weaviate, `${prefix}Changes`);
  const expiries = await openExpiries(weaviate, `${prefix}Expiries`);
  const reads = { weaviate, changes, onUnreadable: onFailure };
  const use = async <T>(_: string, work: () => Promise<T>): Promise<T> => work();

  return {
    embedder: { model: current.model, dimension: current.dimension },
    count: async () => {
      const tenants = await weaviate.listTenants(collection);
      let total = 0;
      for (const { name: tenant } of tenants) total += await countRows(weaviate, { scope: { collection, tenant } });
      return total;
    },
    scan: createBackup({ reads, expiries, collection, use }).scan,
    load: createBackup({ reads, expiries, collection: target, use }).load,
    finish: async ({ model, dimension }) => {
      const next: Current = { collection: target, schema, model, dimension, terms: termsVersion };
      await marks.write('current', '', next);
      await dropOthers(weaviate, prefix, target);
    },
    [Symbol.asyncDispose]: async () => presence[Symbol.asyncDispose](),
  };
}

function nextName(prefix: string, { collection }: Current): string {
  const number = Number(collection.slice(prefix.length + 1));
  if (!Number.isInteger(number))
    throw new ServiceError('StorageFailed', 'the collection of the memories has an unknown name');
  return `${prefix}_${String(number + 1)}`;
}

/** Drops every collection of memories except one. */
async function dropOthers(weaviate: Weaviate, prefix: string, kept: string): Promise<void> {
  const names = await weaviate.listCollections();
  const others = names.filter((name) => name.startsWith(`${prefix}_`) && name !== kept);
  for (const name of others) await weaviate.dropCollection(name);
}
