import type { Env } from '@agent-workflow/kit/env';
import { canBeRetried, fromUnknown, unavailable } from '@agent-workflow/kit/errors';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import { openObservation } from '@agent-workflow/runtime/observe';
import { grantSecretsOf, openPoolCredentials } from '@agent-workflow/runtime/pool-credentials';
import { beginProcess, toGrpcOptions, type RunningProcess } from '@agent-workflow/runtime/process';
import { createGrants } from '@agent-workflow/protos/grants';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { threadsProcessChecks, threadsProcessSettings } from './config.ts';
import { openThreads } from './open.ts';
import { configureStore } from './stores.ts';

/** The threads service as a process of its own. Until its store answers, the process is alive and not ready. */
export async function openThreadsProcess(env: Env, stopping: AbortSignal): Promise<RunningProcess> {
  const { values, log } = beginProcess('threads', {
    settings: threadsProcessSettings,
    checks: threadsProcessChecks,
    env,
  });
  const configured = configureStore(values);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'threads', values, log, host: values.GRPC_HOST }));
  const { served: around, onUnknownCaller, registry } = observed;
  const secrets = grantSecretsOf(values);
  const { onPoolRefusal: count, onPoolLimited: countLimited } = observed;
  const credentials = openPoolCredentials({ values, log, count, countLimited });
  if (credentials) opened.use(credentials);
  const pools = credentials && { ...credentials, grants: secrets && createGrants(secrets) };
  const grpc = toGrpcOptions(values, log, pools);
  const wire = opened.use(await openWireServer(['threads'], { ...grpc, around, onUnknownCaller }));
  const health = observed.health.part(values.THREAD_STORE);
  // A server that answers is not one that can be used: its keyspace or its schema may not be there yet.
  const start = observed.health.part(values.THREAD_STORE, 'start');
  const open = await configured.opener({ checkpointTtl: values.CHECKPOINT_TTL, log, health, registry });
  const store = await retry(open, {
    ...serverAway,
    signal: stopping,
    onRetry: (error) =>
      start.fails(fromUnknown(error).message, unavailable(`${configured.server} cannot be used yet`, error)),
    mayHelp: canBeRetried,
  });
  start.works();
  const { threads } = opened.use(openThreads({ store, values, log, isShared: true }));
  wire.provide('threads', threads);
  // Calls under way end before the store closes.
  opened.defer(() => wire[Symbol.asyncDispose]());
  opened.use(observed.serving());
  const everything = opened.move();
  return {
    startLines: [...observed.startLines, `threads listens on ${wire.address}`],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
