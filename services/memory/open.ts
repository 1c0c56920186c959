import type { PartHealth } from '@agent-workflow/runtime/health';
import type { Registry } from '@agent-workflow/runtime/metrics';
import type { Memory } from '@agent-workflow/protos/memory';
import { openSqliteMemoryStore } from './adapters/sqlite/store.ts';
import type { MemoryValues } from './config.ts';
import { openEmbedder } from './embedders/registry.ts';
import { sweepExpired } from './expiry.ts';
import { createMemories } from './memories.ts';
import { measureMemory } from './observed.ts';

interface OpenedMemory extends AsyncDisposable {
  readonly memory: Memory;
}

interface OpenMemoryOptions {
  readonly path: string;
  readonly values: MemoryValues;
  /** Absent: nothing is measured. */
  readonly registry?: Registry | undefined;
  /** Failures of the file are reported to it. */
  readonly health?: PartHealth | undefined;
}

/**
 * Opens the memory service inside another process, on a SQLite file or on `:memory:`.
 * @throws ConfigError when the file holds memories of another embedder.
 */
export async function openMemory({ path, values, registry, health }: OpenMemoryOptions): Promise<OpenedMemory> {
  const measure = measureMemory(registry);
  const embedder = openEmbedder(values, measure.embedder);
  const store = openSqliteMemoryStore({ path, embedder, health });
  // A file that cannot be written is reported by its health.
  const sweep = sweepExpired(store, () => undefined);
  const memory = createMemories({ store, embedder, halfLifeDays: values.RELEVANCE_HALF_LIFE_DAYS });
  return Promise.resolve({
    memory: measure.memory(memory),
    [Symbol.asyncDispose]: async () => {
      await sweep[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  });
}
