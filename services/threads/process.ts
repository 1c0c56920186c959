import type { Env } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import { openObservation } from '@agent-workflow/runtime/observe';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/runtime/process';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import type { Asked } from './adapters/cassandra/client.ts';
import { openCassandraThreadStore } from './adapters/cassandra/store.ts';
import { readCassandra } from './adapters/cassandra/settings.ts';
import { threadsProcessSettings } from './config.ts';
import { countStatements, watchStatements } from './metrics.ts';
import { openThreads } from './open.ts';

/** The threads service as a process of its own, on Cassandra. Until that answers, it lives and is not ready. */
export async function openThreadsProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('threads', threadsProcessSettings, env);
  const reach = readCassandra(values);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'threads', values, log }));
  const { served: around, onStranger } = observed;
  const wire = opened.use(await openWireServer(['threads'], { ...toGrpcOptions(values, log), around, onStranger }));
  const onError = (error: unknown): void => {
    log.error({ err: error }, 'a write beside a call failed; it is made good later');
  };
  const health = observed.health.part('cassandra');
  const count = observed.registry && countStatements(observed.registry);
  const watch = watchStatements(health);
  const onRequest = (asked: Asked): void => {
    count?.(asked);
    watch(asked);
  };
  const store = await retry(
    () => openCassandraThreadStore({ ...reach, checkpointTtl: values.CHECKPOINT_TTL, onError, onRequest }),
    {
      ...serverAway,
      signal: stopping,
      onRetry: (error) => {
        health.fails('it is away', error);
        log.warn({ err: error }, 'Cassandra does not answer yet');
      },
      mayHelp: (error) => isServiceError(error, 'Unavailable'),
    },
  );
  health.works();
  const { threads } = opened.use(openThreads({ store, values, logger: log }));
  wire.provide('threads', threads);
  // Calls under way end before the store closes.
  opened.defer(() => wire[Symbol.asyncDispose]());
  opened.use(observed.serving());
  const everything = opened.move();
  return {
    says: [...observed.says, `threads listens on ${wire.address}`],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
