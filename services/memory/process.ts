import type { Env } from '@agent-workflow/kit/env';
import { openObservation } from '@agent-workflow/runtime/observe';
import { grantSecretsOf, openPoolCredentials } from '@agent-workflow/runtime/pool-credentials';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/runtime/process';
import { createGrants } from '@agent-workflow/protos/grants';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { memoryProcessChecks, memoryProcessSettings } from './config.ts';
import { openEmbedder } from './embedders/registry.ts';
import { sweepExpired } from './expiry.ts';
import { createMemories } from './memories.ts';
import { measureMemory } from './observed.ts';
import { chooseStore } from './stores.ts';

/**
 * The memory service in a process of its own, on the store that the settings name. It is live at once, and ready when its store is
 * open.
 */
export async function openMemoryProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('memory', {
    settings: memoryProcessSettings,
    checks: memoryProcessChecks,
    env,
  });
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'memory', values, log, host: values.GRPC_HOST }));
  const { served: around, onUnknownCaller } = observed;
  const measure = measureMemory(observed.registry);
  const embedder = openEmbedder(values, measure.embedder);
  // The server is disposed first, so that its calls end before their store closes.
  const stores = opened.use(new AsyncDisposableStack());
  const secrets = grantSecretsOf(values);
  const { onPoolRefusal: count, onPoolLimited: countLimited } = observed;
  const credentials = openPoolCredentials({ values, log, count, countLimited });
  if (credentials) opened.use(credentials);
  const pools = credentials && { ...credentials, grants: secrets && createGrants(secrets) };
  const grpc = toGrpcOptions(values, log, pools);
  const wire = opened.use(await openWireServer(['memory'], { ...grpc, around, onUnknownCaller }));
  const store = stores.use(await chooseStore(values).open({ embedder, log, health: observed.health, stopping }));
  stores.use(
    sweepExpired(store, (error) => {
      log.warn({ err: error }, 'an expired memory cannot be removed');
    }),
  );
  const memory = createMemories({ store, embedder, halfLifeDays: values.RELEVANCE_HALF_LIFE_DAYS });
  wire.provide('memory', measure.memory(memory));
  opened.use(observed.serving());
  const everything = opened.move();
  return {
    startLines: [...observed.startLines, `memory listens on ${wire.address}`],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
