import { newId } from '@agent-workflow/kit/ids';
import type { Env } from '@agent-workflow/kit/env';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/kit/process';
import { readServiceFile } from '@agent-workflow/kit/service-file';
import { connect } from '@agent-workflow/protos/wire/connect';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { openNats } from './adapters/nats.ts';
import { loadAgent } from './agents/load.ts';
import { executionProcessSettings } from './config.ts';
import { toNatsOptions } from './nats-settings.ts';
import { openExecution } from './open.ts';
import { openWatchdog } from './watchdog.ts';

/**
 * The execution service as a process of its own, on NATS. Until that answers, it lives and is not ready. In the role `api` it
 * drives no runs; a `worker` is one that the gateway does not ask.
 */
export async function openExecutionProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('execution', executionProcessSettings, env);
  const file = readServiceFile(values.SERVICE_CONFIG);
  const options = toGrpcOptions(values, log);
  await using opened = new AsyncDisposableStack();
  const watchdog = opened.use(
    openWatchdog({ limitMs: values.BLOCK_LIMIT_MS, runs: values.RUN_CONCURRENCY, logger: log }),
  );
  const graph = file.agent === undefined ? undefined : await loadAgent(file.agent, file.folder);
  const wire = opened.use(await openWireServer(['execution'], options));
  const threads = opened.use(connect('threads', values.THREADS_ADDRESS, options.security));
  const memory = opened.use(connect('memory', values.MEMORY_ADDRESS, options.security));
  const { EVENTS_RETENTION: retention, LEASE_MS: leaseMs } = values;
  const named = `execution (${values.ROLE}) ${newId()}`;
  const nats = opened.use(
    await openNats(toNatsOptions({ values, name: named, retention, leaseMs, logger: log }), stopping),
  );
  const { execution, drain } = opened.use(
    await openExecution({
      ...{ graph, threads, memory, logger: log, values, watchdog },
      ...nats,
      drives: values.ROLE !== 'api',
      sweepMs: values.LEASE_MS / 3,
    }),
  );
  wire.provide('execution', execution);
  let drainUntil = 0;
  opened.defer(() => drain(Math.max(minDrainMs, drainUntil - Date.now())));
  // Calls wait for runs, and end before them.
  opened.defer(() => wire[Symbol.asyncDispose]());
  opened.defer(() => {
    drainUntil = Date.now() + options.drainMs;
  });
  const everything = opened.move();
  return {
    says: [`execution (${values.ROLE}) listens on ${wire.address}`],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Time that runs have to reach their next commit, in milliseconds. */
const minDrainMs = 500;
