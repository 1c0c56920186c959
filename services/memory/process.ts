import type { Env } from '@agent-workflow/kit/env';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/kit/process';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { createEmbedder, memoryProcessSettings } from './config.ts';
import { createMemories } from './memories.ts';
import { openStore } from './open-store.ts';

/**
 * The memory service as a process of its own, on Weaviate, or on the SQLite file of `DATA_DIR`. Until its store is there it lives
 * and is not ready.
 */
export async function openMemoryProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('memory', memoryProcessSettings, env);
  const embedder = await createEmbedder(values);
  await using opened = new AsyncDisposableStack();
  // Calls end before the store that they are about.
  const stores = opened.use(new AsyncDisposableStack());
  const wire = opened.use(await openWireServer(['memory'], toGrpcOptions(values, log)));
  const store = stores.use(await openStore({ values, embedder, log, stopping }));
  wire.provide('memory', createMemories({ store, embedder, halfLifeDays: values.RELEVANCE_HALF_LIFE_DAYS }));
  const everything = opened.move();
  return { says: [`memory listens on ${wire.address}`], [Symbol.asyncDispose]: () => everything.disposeAsync() };
}
