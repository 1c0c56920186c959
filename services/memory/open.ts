import type { PartHealth } from '@agent-workflow/runtime/health';
import type { Registry } from '@agent-workflow/runtime/metrics';
import type { Memory } from '@agent-workflow/protos/memory';
import { openSqliteMemoryStore } from './adapters/sqlite/store.ts';
import { createEmbedder, type MemoryValues } from './config.ts';
import { createMemories } from './memories.ts';
import { measureMemory } from './metrics.ts';

export interface OpenedMemory extends AsyncDisposable {
  readonly memory: Memory;
}

export interface OpenMemoryOptions {
  readonly path: string;
  readonly values: MemoryValues;
  /** Absent: nothing is measured. */
  readonly registry?: Registry | undefined;
  /** Whom failures of the file are reported to. */
  readonly health?: PartHealth | undefined;
}

/**
 * Opens the memory service on a SQLite file, or `:memory:`.
 * @throws ConfigError when the file was written with another embedder.
 */
export async function openMemory({ path, values, registry, health }: OpenMemoryOptions): Promise<OpenedMemory> {
  const measure = measureMemory(registry);
  const embedder = await createEmbedder(values, measure.embedder);
  const store = openSqliteMemoryStore({ path, embedder, health });
  const memory = createMemories({ store, embedder, halfLifeDays: values.RELEVANCE_HALF_LIFE_DAYS });
  return { memory: measure.memory(memory), [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose]() };
}
