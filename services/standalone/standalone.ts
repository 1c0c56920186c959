import { join, resolve } from 'node:path';
import { openMemoryRunQueue } from '@agent-workflow/execution/adapters/memory';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite';
import { loadAgent } from '@agent-workflow/execution/agents/load';
import { openExecution } from '@agent-workflow/execution/open';
import { createApp } from '@agent-workflow/gateway/app';
import { openAuth, rulesOf } from '@agent-workflow/gateway/auth/open';
import { hostOf, readServiceFile } from '@agent-workflow/gateway/config';
import { openMemoryCounter } from '@agent-workflow/gateway/limits/adapters/memory';
import { openMemoryToolShelf } from '@agent-workflow/gateway/tools/adapters/memory';
import { openServer } from '@agent-workflow/gateway/server';
import { holdFolder } from '@agent-workflow/kit/adapters/sqlite';
import { ConfigError, printable, readEnv, type Env } from '@agent-workflow/kit/env';
import { anonymousOwner } from '@agent-workflow/kit/ids';
import { createLog } from '@agent-workflow/kit/log';
import { openMemory } from '@agent-workflow/memory/open';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite';
import { createThreads } from '@agent-workflow/threads/threads';
import { standaloneSettings } from './config.ts';

/** The whole service in this process. Disposing of it drains: running requests finish, within `DRAIN_SECONDS`. */
export interface Standalone extends AsyncDisposable {
  /** Where it listens. */
  readonly url: string;
  /** What is open to whom, in one line. */
  readonly says: string;
}

/**
 * Opens gateway and services on the SQLite files of `DATA_DIR`, and listens.
 * @throws ConfigError for whatever of environment, `service.json`, agent or data folder does not hold.
 */
export async function openStandalone(env: Env): Promise<Standalone> {
  const values = readEnv(standaloneSettings, env);
  const log = createLog('standalone', values.LOG_LEVEL);
  log.info({ config: printable(standaloneSettings, values) }, 'configured');
  const file = readServiceFile(values.SERVICE_CONFIG);
  const host = hostOf(values, file);
  await using opened = new AsyncDisposableStack();
  const auth = opened.use(await openAuth({ file, config: values, host, log }));
  const graph = file.agent === undefined ? undefined : await loadAgent(file.agent, file.folder);

  const pathOf = openFolder(values.DATA_DIR, opened);
  const store = opened.use(openSqliteThreadStore({ path: pathOf('threads.sqlite') }));
  const threads = link(createThreads({ store }));
  const memory = link(opened.use(await openMemory({ path: pathOf('memory.sqlite'), values })).memory);
  const { execution, drain } = opened.use(
    await openExecution({
      graph,
      threads,
      memory,
      queue: openMemoryRunQueue(),
      log: openSqliteRunLog({ path: pathOf('execution.sqlite') }),
      logger: log,
      values,
    }),
  );
  // Requests wait for runs: they drain first, and what then still runs has the time that is left.
  let drainUntil = 0;
  opened.defer(() => drain(Math.max(minDrainMs, drainUntil - Date.now())));
  const says = `${auth.says}${file.auth === null ? '' : `; ${await sayAnonymous(threads)}`}`;
  const counter = opened.use(openMemoryCounter());
  const tools = opened.use(openMemoryToolShelf());
  const app = createApp({
    threads,
    execution: link(execution),
    memory,
    counter,
    tools,
    config: values,
    log,
    ...rulesOf(auth),
  });
  const server = opened.use(await openServer({ app, host, config: values, log }));
  opened.defer(() => {
    drainUntil = Date.now() + values.DRAIN_SECONDS * 1000;
  });

  const everything = opened.move();
  return { url: server.url, says, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

/** Time that runs without a waiting request have to reach their next commit, in milliseconds. */
const minDrainMs = 500;

/** How many threads are left from when nobody had to sign in: no signed-in user reaches them. */
async function sayAnonymous(threads: Threads): Promise<string> {
  const page = await threads.listThreads({ owner: anonymousOwner, limit: 1000, offset: 0 }, within(startMs));
  return `anonymous threads: ${page.cursor ? 'more than ' : ''}${page.threads.length}`;
}

/** Time that the record has to answer at the start, in milliseconds. */
const startMs = 30_000;

/** Holds the data folder for this process, and names the files in it. */
function openFolder(folder: string, opened: AsyncDisposableStack): (name: string) => string {
  if (folder === ':memory:') return () => ':memory:';
  const path = resolve(folder);
  const held = holdFolder(path);
  if (!held) throw new ConfigError(`DATA_DIR ${path} is in use by another process`);
  opened.use(held);
  return (name) => join(path, name);
}
