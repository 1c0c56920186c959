import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openInProcessRunControl } from '@agent-workflow/execution/adapters/in-process/control';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { loadAgent } from '@agent-workflow/execution/agents/load';
import { observeExecution } from '@agent-workflow/execution/observed';
import { openExecution } from '@agent-workflow/execution/open';
import { unwatched, type OpenWatchdog } from '@agent-workflow/execution/watchdog/watchdog';
import { createApp } from '@agent-workflow/gateway/app';
import { openAuth, rulesOf } from '@agent-workflow/gateway/auth/open';
import { hostOf } from '@agent-workflow/gateway/config';
import { createReadinessCheck } from '@agent-workflow/gateway/upstream/readiness';
import { openServer } from '@agent-workflow/gateway/server';
import { openInProcessStores, type GatewayStores } from '@agent-workflow/gateway/stores';
import { openDataFolder } from '@agent-workflow/runtime/sqlite/data-folder';
import type { Env } from '@agent-workflow/kit/env';
import { anonymousOwner } from '@agent-workflow/kit/ids';
import { openObservation } from '@agent-workflow/runtime/observe';
import { beginProcess, type RunningProcess } from '@agent-workflow/runtime/process';
import { readServiceFile } from '@agent-workflow/runtime/service-file';
import { openMemory } from '@agent-workflow/memory/open';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { openThreads } from '@agent-workflow/threads/open';
import { standaloneSettings } from './config.ts';

/** The whole service in this process. Disposing of it drains: running requests finish, within `DRAIN_SECONDS`. */
interface Standalone extends RunningProcess {
  /** Where it listens. */
  readonly url: string;
}

interface StandaloneOptions {
  /** For whoever has the process for itself. */
  readonly openWatchdog?: OpenWatchdog;
  /** Where the edge keeps what it keeps; in this process unless told. */
  readonly openStores?: () => Promise<GatewayStores> | GatewayStores;
}

/**
 * Opens gateway and services on the SQLite files of `DATA_DIR`, and listens.
 * @throws ConfigError for whatever of environment, `service.json`, agent or data folder does not hold.
 */
export async function openStandalone(
  env: Env,
  { openWatchdog = () => unwatched, openStores = openInProcessStores }: StandaloneOptions = {},
): Promise<Standalone> {
  const { values, log } = beginProcess('standalone', standaloneSettings, env);
  const file = readServiceFile(values.SERVICE_CONFIG);
  const host = hostOf(values, file);
  await using opened = new AsyncDisposableStack();
  const observed = opened.use(await openObservation({ service: 'standalone', values, log, file }));
  const { registry, spans, health, inProcess } = observed;
  const watchdog = opened.use(openWatchdog({ limitMs: values.BLOCK_LIMIT_MS, runs: values.RUN_CONCURRENCY, log }));
  const auth = opened.use(await openAuth({ file, config: values, host, log }));
  const graph = file.agent === undefined ? undefined : await loadAgent(file.agent, file.folder);

  const { pathOf } = opened.use(openDataFolder(values.DATA_DIR));
  const store = openSqliteThreadStore({ path: pathOf('threads.sqlite'), health: health.part('record') });
  const threads = inProcess('threads', link(opened.use(openThreads({ store, values, log })).threads));
  const memory = inProcess(
    'memory',
    link(
      opened.use(await openMemory({ path: pathOf('memory.sqlite'), values, registry, health: health.part('memory') }))
        .memory,
    ),
  );
  const parts = {
    ...{ graph, threads, watchdog },
    queue: openInProcessRunQueue(),
    leases: openInProcessWorkerLeases(),
    eventLog: openSqliteRunLog({ path: pathOf('execution.sqlite'), health: health.part('events') }),
  };
  const { execution, drain } = opened.use(
    await openExecution({
      ...observeExecution(parts, { registry, spans, slots: values.RUN_CONCURRENCY }),
      ...{ memory, log, values, sweepMs, health },
      control: openInProcessRunControl(),
    }),
  );
  // Requests wait for runs: they drain first, and what then still runs has the time that is left.
  let drainUntil = 0;
  opened.defer(() => drain(Math.max(minDrainMs, drainUntil - Date.now())));
  const open = `${auth.summary}${file.auth === null ? '' : `; ${await sayAnonymous(threads)}`}`;
  const stores = opened.use(await openStores());
  const app = createApp({
    threads,
    execution: inProcess('execution', link(execution)),
    memory,
    ...stores,
    readiness: createReadinessCheck({ threads, health }),
    ...{ config: values, log, registry, spans },
    ...rulesOf(auth),
  });
  const server = opened.use(await openServer({ app, host, config: values, log }));
  opened.defer(() => {
    drainUntil = Date.now() + values.DRAIN_SECONDS * 1000;
  });

  opened.use(observed.serving());
  const everything = opened.move();
  const says = [open, ...observed.says, `Agent Workflow Service listens on ${server.url}`];
  return { url: server.url, says, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

/** How often runs are looked for that this process has lost, in milliseconds: those of the one before are found at the start. */
const sweepMs = 30_000;

/** Time that runs without a waiting request have to reach their next commit, in milliseconds. */
const minDrainMs = 500;

/** How many threads are left from when nobody had to sign in: no signed-in user reaches them. */
async function sayAnonymous(threads: Threads): Promise<string> {
  const page = await threads.listThreads({ owner: anonymousOwner, limit: 1000, offset: 0 }, within(startMs));
  return `anonymous threads: ${page.cursor ? 'more than ' : ''}${page.threads.length}`;
}

/** Time that the record has to answer at the start, in milliseconds. */
const startMs = 30_000;
