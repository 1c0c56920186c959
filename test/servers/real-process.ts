import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pRetry from 'p-retry';
import { processEnv } from '@agent-workflow/kit/env';
import { onPath, provisioned, type ServerName } from './provisioned.ts';

/** How a server is to be run: the same for all that share it. */
export interface RunOptions {
  /** It is killed and started again, and what it acknowledged must be there then. */
  readonly isDurable: boolean;
  /** Cassandra only: when a write is acknowledged, before (`periodic`) or after it is on disk. */
  readonly commitlogSync?: 'periodic' | 'batch';
  /** Cassandra only: it is compiled as far as one that has run for days, which takes a minute of work at first. */
  readonly isForMeasuring?: boolean;
  /** Cassandra and PostgreSQL: callers sign in, and who speaks TLS shows a certificate. Files in PEM form. */
  readonly secured?: { readonly keyAndCertificate: string; readonly authorities: string };
}

/** Where a server runs. Everything that it writes goes to `data`. */
export interface Place {
  /** What is run, as `provisioned` gives it. */
  readonly program: string;
  readonly data: string;
  readonly ports: readonly number[];
  readonly options: RunOptions;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** All that differs from server to server. */
export interface Recipe {
  readonly server: ServerName;
  readonly title: string;
  /** How many ports it listens on; its users are told the first one. */
  readonly portCount: number;
  /** Writes what the server reads at its start to `place.data`, which is there; also before a restart on old data. */
  readonly prepare: (place: Place) => Promise<Command>;
  /** What ends it in order without waiting for its users; SIGTERM when absent. */
  readonly stopSignal?: NodeJS.Signals;
  /** Whether it answers in its own protocol. Throws or says false until it does. */
  readonly isReady: (port: number) => Promise<boolean>;
}

/** A started server in a temporary folder of its own. Disposal kills it and removes the folder. */
export interface ServerProcess extends AsyncDisposable {
  /** Stays the same over restarts. */
  readonly port: number;
  /** SIGKILL; resolves once it is gone. */
  readonly kill: () => Promise<void>;
  /** SIGTERM, or what the recipe names instead; resolves once it is gone. */
  readonly stop: () => Promise<void>;
  /** SIGSTOP: it is frozen, and its connections stay open. */
  readonly freeze: () => Promise<void>;
  /** SIGCONT: it goes on. */
  readonly thaw: () => Promise<void>;
  /** Starts it again on the same ports and data; resolves once it is ready. */
  readonly restart: () => Promise<void>;
  /** Removes all its data. @throws Error when it runs. */
  readonly wipe: () => Promise<void>;
  /** All that it printed so far, over restarts. */
  readonly readLog: () => Promise<string>;
  /** Resolves when it ends without having been told to. */
  readonly broken: Promise<void>;
}

/** A start takes 4 seconds at most, and several times that on a machine that is busy with the tests themselves. */
const startMs = 60_000;
const shownBytes = 3000;

/** A port that was free may be another process's by the time the server listens. */
const startsAtMost = 3;
const isPortTaken = ({ message }: Error): boolean => /address already in use|EADDRINUSE/i.test(message);

/**
 * Starts a server that is provisioned, and waits until it is ready. One whose port was taken meanwhile is started anew, at others.
 * @throws Error with the end of its log when it ends instead, or takes a minute.
 */
export async function openServerProcess(recipe: Recipe, options: RunOptions): Promise<ServerProcess> {
  return pRetry(() => startServer(recipe, options), {
    retries: startsAtMost - 1,
    minTimeout: 0,
    shouldRetry: ({ error }) => isPortTaken(error),
  });
}

async function startServer(recipe: Recipe, options: RunOptions): Promise<ServerProcess> {
  const program = provisioned(recipe.server);
  if (program === undefined) throw new Error(`${recipe.title} is not provisioned`);
  const folder = await mkdtemp(join(tmpdir(), `agent-workflow-${recipe.server}-`));
  const place = { program, data: join(folder, 'data'), ports: await freePorts(recipe.portCount), options };
  const port = place.ports[0] as number;
  const log = join(folder, 'log');
  const broken = Promise.withResolvers<undefined>();
  let running: ChildProcess | undefined;

  const end = async (name: NodeJS.Signals): Promise<void> => {
    const child = running;
    running = undefined;
    if (child) await ended(child, name);
  };
  const signal = (name: NodeJS.Signals): Promise<void> => {
    running?.kill(name);
    return Promise.resolve();
  };
  const start = async (): Promise<void> => {
    if (running) throw new Error(`${recipe.title} runs already`);
    await mkdir(place.data, { recursive: true });
    const child = await spawnLogged(await recipe.prepare(place), log);
    running = child;
    child.once('exit', () => {
      if (running === child) broken.resolve(undefined);
    });
    await untilReady(recipe, child, port).catch(async (error: unknown) => {
      await end('SIGKILL');
      throw new Error(`${String(error)}\n${(await readFile(log, 'utf8')).slice(-shownBytes)}`);
    });
  };
  const dispose = async (): Promise<void> => {
    await end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  await start().catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    port,
    kill: () => end('SIGKILL'),
    stop: () => end(recipe.stopSignal ?? 'SIGTERM'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    restart: start,
    wipe: async () => {
      if (running) throw new Error(`${recipe.title} runs: kill or stop it before its data is wiped`);
      await rm(place.data, { recursive: true, force: true });
    },
    readLog: () => readFile(log, 'utf8'),
    broken: broken.promise,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Nothing of our environment reaches the server but what programs need to start: some read dozens of variables. */
async function spawnLogged({ command, args, env = {} }: Command, log: string): Promise<ChildProcess> {
  const { PATH, HOME, JAVA_HOME, TMPDIR } = processEnv();
  const given = Object.entries({ PATH, HOME, JAVA_HOME, TMPDIR, ...env }).filter(([, value]) => value !== undefined);
  await using file = await open(log, 'a');
  const [program, ...rest] = tiedToUs([command, ...args]);
  const child = spawn(program, rest, { env: Object.fromEntries(given), stdio: ['ignore', file.fd, file.fd] });
  await once(child, 'spawn');
  return child;
}

/** Where the system can, it kills the server with the process that started it, however that one ends. */
function tiedToUs(command: [string, ...string[]]): [string, ...string[]] {
  const setpriv = onPath('setpriv');
  return setpriv === undefined ? command : [setpriv, '--pdeathsig', 'KILL', '--', ...command];
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

async function untilReady(recipe: Recipe, child: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + startMs;
  while (!(await recipe.isReady(port).catch(() => false))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(
        `${recipe.title} ended with ${child.exitCode ?? child.signalCode ?? 'nothing'} before it was ready`,
      );
    if (performance.now() > deadline) throw new Error(`${recipe.title} was not ready after ${startMs / 1000} s`);
    await delay(25);
  }
}

/**
 * Ports below those that systems give to whoever asks for any: while a server is down for its restart, no other process is
 * given its ports.
 */
const lowestPort = 12_000;
const highestPort = 31_999;

/** Ports that nobody listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort + 1));
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/** Asks for all interfaces: some servers listen on more than the loopback. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });

/** Whether a process is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
