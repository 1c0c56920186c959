import type { Env } from '@agent-workflow/kit/env';
import { openObservation } from '@agent-workflow/runtime/observe';
import { beginProcess, toSecurity, type RunningProcess } from '@agent-workflow/runtime/process';
import { readServiceFile } from '@agent-workflow/runtime/service-file';
import { readsOldReplicas } from '@agent-workflow/protos/old-events';
import { connect } from '@agent-workflow/protos/wire/connect';
import { createApp } from './app.ts';
import { openAuth, rulesOf } from './auth/open.ts';
import { gatewayProcessSettings, hostOf } from './config.ts';
import { createParts } from './upstream/parts.ts';
import { openServer } from './server.ts';
import { steadyExecution } from './upstream/steady.ts';
import { openEdgeStores } from './stores.ts';

/**
 * The edge as a process of its own, in front of the services of a cluster. It begins without them: what needs one that is away
 * is answered with 503.
 */
export async function openGatewayProcess(env: Env): Promise<RunningProcess> {
  const { values, log } = beginProcess('gateway', gatewayProcessSettings, env);
  const security = toSecurity(values);
  const file = readServiceFile(values.SERVICE_CONFIG);
  const host = hostOf(values, file);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'gateway', values, log, file }));
  const { registry, spans, health, calling } = observed;
  const auth = opened.use(await openAuth({ file, config: values, host, log }));
  const threads = opened.use(connect('threads', values.THREADS_ADDRESS, security));
  const execution = opened.use(connect('execution', values.EXECUTION_ADDRESS, security));
  const memory = opened.use(connect('memory', values.MEMORY_ADDRESS, security));
  const app = createApp({
    threads: calling('threads', threads),
    execution: steadyExecution(readsOldReplicas(calling('execution', execution))),
    memory: calling('memory', memory),
    parts: createParts({ threads, health, remote: { execution, memory } }),
    ...opened.use(await openEdgeStores({ config: values, log, registry, health })),
    ...{ config: values, log, registry, spans },
    ...rulesOf(auth),
  });
  const server = opened.use(await openServer({ app, host, config: values, log }));
  opened.use(observed.serving());
  const everything = opened.move();
  return {
    says: [auth.says, ...observed.says, `gateway listens on ${server.url}`],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
