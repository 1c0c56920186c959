import type { Env } from '@agent-workflow/kit/env';
import { openObservation } from '@agent-workflow/runtime/observe';
import { beginProcess, toSecurity, type RunningProcess } from '@agent-workflow/runtime/process';
import { readServiceFile } from '@agent-workflow/runtime/service-file';
import { connect } from '@agent-workflow/protos/wire/connect';
import { createApp } from './app.ts';
import { readRules } from './access/read-rules.ts';
import { summaryOf } from './access/summary.ts';
import { openApiKeys } from './api-keys/open.ts';
import { openAuth, rulesOf } from './auth/open.ts';
import { gatewayProcessChecks, gatewayProcessSettings, hostOf } from './config.ts';
import { openFileStore, openFileSweep } from './files/index.ts';
import { createReadinessCheck, watchReadiness } from './upstream/readiness.ts';
import { openItemSweep } from './item-sweep.ts';
import { openScheduleSweep } from './schedule-sweep.ts';
import { openServer } from './server.ts';
import { retryingExecution } from './upstream/retrying-execution.ts';
import { openGatewayStores } from './stores.ts';

/**
 * The gateway as a process of its own, in front of the services of a cluster. It starts without them: requests that need a
 * service that is unavailable are answered with 503.
 */
export async function openGatewayProcess(env: Env): Promise<RunningProcess> {
  const { values, log } = beginProcess('gateway', {
    settings: gatewayProcessSettings,
    checks: gatewayProcessChecks,
    env,
  });
  const security = toSecurity(values);
  const file = readServiceFile(values.SERVICE_CONFIG);
  const host = hostOf(values, file);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'gateway', values, log, host, file }));
  const { registry, spans, health, calling } = observed;
  const access = readRules(file);
  const withoutKeys = opened.use(await openAuth({ file, config: values, rolePlaces: access.claims, host, log }));
  const threads = opened.use(connect('threads', values.THREADS_ADDRESS, security));
  const execution = opened.use(connect('execution', values.EXECUTION_ADDRESS, security));
  const memory = opened.use(connect('memory', values.MEMORY_ADDRESS, security));
  const files = opened.use(await openFileStore({ config: values, log, registry, grantSecrets: values.GRANT_SECRET }));
  const calledThreads = calling('threads', threads);
  const auth = opened.use(openApiKeys(withoutKeys, { config: values, access, threads: calledThreads, log }));
  const readiness = createReadinessCheck({ threads, health, files: files.bytes, remote: { execution, memory } });
  const stores = opened.use(await openGatewayStores({ config: values, log, registry, health }));
  const services = {
    threads: calledThreads,
    execution: retryingExecution(calling('execution', execution)),
    memory: calling('memory', memory),
    ...stores,
  };
  const app = createApp({
    ...services,
    readiness,
    ...{ config: values, log, registry, spans, files },
    ...rulesOf(auth),
    access,
    ...{ enterByKey: auth.enterByKey, authorizeLater: auth.authorizeLater },
  });
  // What is wrong around it is in the log from the start, and not with the first request. A check that runs at the end delays no drain.
  opened.use(watchReadiness(readiness));
  const server = opened.use(await openServer({ app, host, config: values, log }));
  opened.use(openFileSweep({ threads: calledThreads, files, log }));
  opened.use(openItemSweep({ ...services, log }));
  const { authorizeLater: authorize } = auth;
  opened.use(
    openScheduleSweep({ ...services, ...{ config: values, authorize, access, secured: file.auth !== null, log } }),
  );
  opened.use(observed.serving());
  const resources = opened.move();
  return {
    startLines: [
      auth.summary,
      ...summaryOf(access),
      files.summary,
      ...observed.startLines,
      `gateway listens on ${server.url}`,
    ],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
