import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openInProcessCodeCalls } from '@agent-workflow/execution/adapters/in-process/code-calls';
import { openInProcessRunControl } from '@agent-workflow/execution/adapters/in-process/control';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { atRevision } from '@agent-workflow/execution/record/agents';
import { loadAgents } from '@agent-workflow/execution/agents/load';
import { observeExecution } from '@agent-workflow/execution/observed';
import { openExecution } from '@agent-workflow/execution/open';
import { unwatched, type OpenWatchdog } from '@agent-workflow/execution/watchdog/watchdog';
import { createApp } from '@agent-workflow/gateway/app';
import type { ServiceEndpoint } from '@agent-workflow/gateway/dialects/services';
import type { Dialects } from '@agent-workflow/gateway/http/dialect';
import { readRules } from '@agent-workflow/gateway/access/read-rules';
import { summaryOf } from '@agent-workflow/gateway/access/summary';
import { openApiKeys } from '@agent-workflow/gateway/api-keys/open';
import { openAuth, rulesOf } from '@agent-workflow/gateway/auth/open';
import { hostOf, type GatewayConfig } from '@agent-workflow/gateway/config';
import { createRunFiles, openFileStore, openFileSweep, openOwnFiles } from '@agent-workflow/gateway/files';
import { createReadinessCheck, watchReadiness } from '@agent-workflow/gateway/upstream/readiness';
import { openItemSweep } from '@agent-workflow/gateway/item-sweep';
import { openScheduleSweep } from '@agent-workflow/gateway/schedule-sweep';
import { openServer } from '@agent-workflow/gateway/server';
import { openInProcessStores, type GatewayStores } from '@agent-workflow/gateway/stores';
import { dataPlace, openDataFolder } from '@agent-workflow/runtime/sqlite/data-folder';
import type { Env } from '@agent-workflow/kit/env';
import { anonymousOwner } from '@agent-workflow/kit/ids';
import { isLogText } from '@agent-workflow/kit/log';
import { openObservation } from '@agent-workflow/runtime/observe';
import { beginProcess, type RunningProcess } from '@agent-workflow/runtime/process';
import { readServiceFile, type ServiceFile } from '@agent-workflow/runtime/service-file';
import { openMemory } from '@agent-workflow/memory/open';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { openThreads } from '@agent-workflow/threads/open';
import { standaloneChecks, standaloneSettings } from './config.ts';

/** The whole service in this process. Disposing of it drains: running requests finish, within `DRAIN_SECONDS`. */
interface Standalone extends RunningProcess {
  /** The address on which it listens. */
  readonly url: string;
}

interface StandaloneOptions {
  /** Opens the watchdog; absent: none. A test that shares its process with others opens none. */
  readonly openWatchdog?: OpenWatchdog;
  /** Opens the stores of the gateway; absent: they are in this process's memory. */
  readonly openStores?: () => Promise<GatewayStores> | GatewayStores;
  /** In which callers may speak; absent: those of the gateway. */
  readonly dialects?: Dialects<ServiceEndpoint> | undefined;
  /** How often the sweep looks for runs without a worker, in milliseconds; absent: every half minute. */
  readonly sweepMs?: number;
  /** How often a waiting run is enqueued again, in milliseconds; absent: every half minute. */
  readonly waitingMs?: number;
}

/**
 * Opens gateway and services on the SQLite files of `DATA_DIR`, and listens.
 * @throws ConfigError when the environment, `service.json`, the agent or the data folder has a fault.
 */
export async function openStandalone(
  env: Env,
  {
    openWatchdog = () => unwatched,
    openStores = openInProcessStores,
    dialects,
    sweepMs = usualSweepMs,
    waitingMs,
  }: StandaloneOptions = {},
): Promise<Standalone> {
  const { values, log } = beginProcess('standalone', {
    settings: standaloneSettings,
    checks: standaloneChecks,
    env,
  });
  const file = readServiceFile(values.SERVICE_CONFIG);
  const host = hostOf(values, file);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'standalone', values, log, host, file }));
  const { registry, spans, health, inProcess } = observed;
  const watched = {
    limitMs: values.BLOCK_LIMIT_MS,
    runs: values.RUN_CONCURRENCY,
    isText: isLogText(values.LOG_FORMAT),
  };
  const watchdog = opened.use(openWatchdog({ ...watched, log }));
  const access = readRules(file);
  const withoutKeys = opened.use(await openAuth({ file, config: values, rolePlaces: access.claims, host, log }));
  const agents = atRevision(await loadAgents(file, (warning) => log.warn(warning)), values.AGENT_REVISION);

  const { pathOf } = opened.use(openDataFolder(values.DATA_DIR));
  const store = openSqliteThreadStore({ path: pathOf('threads.sqlite'), health: health.part('record') });
  const threads = inProcess('threads', link(opened.use(openThreads({ store, values, log })).threads));
  const auth = opened.use(openApiKeys(withoutKeys, { config: values, access, threads, log }));
  const memory = inProcess(
    'memory',
    link(
      opened.use(await openMemory({ path: pathOf('memory.sqlite'), values, registry, health: health.part('memory') }))
        .memory,
    ),
  );
  const localFiles = opened.use(await openOwnFiles(pathOf));
  const files = opened.use(await openFileStore({ config: values, log, registry, own: localFiles }));
  const parts = {
    ...{ agents, threads, watchdog },
    queue: openInProcessRunQueue(),
    leases: openInProcessWorkerLeases(),
    eventLog: openSqliteRunLog({ path: pathOf('execution.sqlite'), health: health.part('events') }),
  };
  const { execution, drain } = opened.use(
    await openExecution({
      ...observeExecution(parts, { registry, spans, slots: values.RUN_CONCURRENCY }),
      ...{ memory, log, values, sweepMs, waitingMs, health },
      registers: true,
      isLocal: auth.isLocal,
      files: createRunFiles({ threads, files, log, callTimeoutMs: values.CALL_TIMEOUT_MS }),
      control: openInProcessRunControl(),
      codeCalls: openInProcessCodeCalls(),
    }),
  );
  // Requests wait for runs, so requests drain first. Runs that are still under way then have the rest of the time.
  let drainUntil = 0;
  opened.defer(() => drain(Math.max(minDrainMs, drainUntil - Date.now())));
  const authLine = `${auth.summary}${file.auth === null ? '' : `; ${await countAnonymousThreads(threads)}`}`;
  const stores = opened.use(await openStores());
  const readiness = createReadinessCheck({ threads, health, files: files.bytes });
  const services = { threads, execution: inProcess('execution', link(execution)), memory, ...stores };
  const app = createApp({
    ...services,
    readiness,
    ...{ config: values, log, registry, spans, files, dialects },
    ...rulesOf(auth),
    access,
    ...{ enterByKey: auth.enterByKey, authorizeLater: auth.authorizeLater },
  });
  opened.use(watchReadiness(readiness));
  const server = opened.use(await openServer({ app, host, config: values, log }));
  opened.defer(() => {
    drainUntil = Date.now() + values.DRAIN_SECONDS * 1000;
  });

  opened.use(openFileSweep({ threads, files, log }));
  opened.use(openItemSweep({ ...services, log }));
  const { authorizeLater: authorize } = auth;
  opened.use(
    openScheduleSweep({ ...services, ...{ config: values, authorize, access, secured: file.auth !== null, log } }),
  );
  opened.use(observed.serving());
  const everything = opened.move();
  const where = `${agentsLineOf(file)}; data: ${dataPlace(values.DATA_DIR)}`;
  const pages = pageLinesOf(values, server.localUrl);
  const lines = [
    authLine,
    ...summaryOf(access),
    where,
    ...observed.startLines,
    ...pages,
    `Agent Workflow Service listens on ${server.url}`,
  ];
  return { url: server.url, startLines: lines, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

const agentsLineOf = ({ agent, agents, defaultAgent }: ServiceFile): string => {
  if (!agents) return agent === undefined ? 'no agent' : `agent: ${agent}`;
  const names = agents.map(({ name }) => (name === defaultAgent ? `${name} (default)` : name));
  return `agents: ${names.join(', ')}`;
};

/** Where people find the pages that are served. */
const pageLinesOf = ({ PLAYGROUND, DOCS }: Pick<GatewayConfig, 'PLAYGROUND' | 'DOCS'>, url: string): string[] => {
  const pages = [PLAYGROUND === 'on' && `playground: ${url}/playground`, DOCS === 'on' && `docs: ${url}/docs`];
  const served = pages.filter((page) => page !== false);
  return served.length === 0 ? [] : [served.join('; ')];
};

/** Runs of an earlier process are found at the start, so that no sweep has to come soon. */
const usualSweepMs = 30_000;

/** How long runs for which no request waits may take to reach their next commit, in milliseconds. */
const minDrainMs = 500;

/** A line with the number of threads that were made without authentication. No signed-in user can read them. */
async function countAnonymousThreads(threads: Threads): Promise<string> {
  const page = await threads.listThreads({ owner: anonymousOwner, limit: 1000, offset: 0 }, within(startMs));
  return `anonymous threads: ${page.cursor ? 'more than ' : ''}${page.threads.length}`;
}

/** The timeout of a call to the threads service at the start, in milliseconds. */
const startMs = 30_000;
