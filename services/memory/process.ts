import type { Env } from '@agent-workflow/kit/env';
import { openObservation } from '@agent-workflow/runtime/observe';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/runtime/process';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { createEmbedder, memoryProcessSettings } from './config.ts';
import { createMemories } from './memories.ts';
import { measureMemory } from './metrics.ts';
import { openStore } from './open-store.ts';

/**
 * The memory service as a process of its own, on Weaviate, or on the SQLite file of `DATA_DIR`. Until its store is there it lives
 * and is not ready.
 */
export async function openMemoryProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('memory', memoryProcessSettings, env);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'memory', values, log }));
  const { served: around, onStranger } = observed;
  const measure = measureMemory(observed.registry);
  const embedder = await createEmbedder(values, measure.embedder);
  // Calls end before the store that they are about.
  const stores = opened.use(new AsyncDisposableStack());
  const wire = opened.use(await openWireServer(['memory'], { ...toGrpcOptions(values, log), around, onStranger }));
  const store = stores.use(await openStore({ values, embedder, log, health: observed.health, stopping }));
  const memory = createMemories({ store, embedder, halfLifeDays: values.RELEVANCE_HALF_LIFE_DAYS });
  wire.provide('memory', measure.memory(memory));
  opened.use(observed.serving());
  const everything = opened.move();
  return {
    says: [...observed.says, `memory listens on ${wire.address}`],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
