import type { Memory } from '@agent-workflow/protos/memory';
import { openSqliteMemoryStore } from './adapters/sqlite.ts';
import { createEmbedder, type MemoryValues } from './config.ts';
import { createMemories } from './memories.ts';

export interface OpenedMemory extends AsyncDisposable {
  readonly memory: Memory;
}

/**
 * Opens the memory service on a SQLite file, or `:memory:`.
 * @throws ConfigError when the file was written with another embedder.
 */
export async function openMemory({
  path,
  values,
}: {
  readonly path: string;
  readonly values: MemoryValues;
}): Promise<OpenedMemory> {
  const embedder = await createEmbedder(values);
  const store = openSqliteMemoryStore({ path, embedder });
  const memory = createMemories({ store, embedder, halfLifeDays: values.RELEVANCE_HALF_LIFE_DAYS });
  return { memory, [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose]() };
}
