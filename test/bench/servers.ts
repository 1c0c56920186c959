import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { processEnv } from '@agent-workflow/kit/env';
import type { CannedReply } from './bare-koa.ts';
import { onServerCore } from './cores.ts';

/** A server in a process of its own. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

export interface BareKoa extends Server {
  /** Sets what every request is answered with from now on. */
  readonly answer: (reply: CannedReply) => Promise<void>;
}

interface ServiceOptions {
  /** An export of `agents.ts`; without it the agent of the repository's `service.json`. */
  readonly agent?: 'echo' | 'toolLoop' | 'pureLoop' | 'pacedLoop' | 'streamer' | 'sleeper' | 'emitter' | 'wordByWord';
  /** Names of agents in place of one without a name: each is the one that says what it heard, registered at a revision. */
  readonly agents?: readonly string[];
  /** Where its data is, which stays; a new folder, which goes, when absent. */
  readonly keptIn?: string;
  /** Folder that a CPU profile of the process is written to. */
  readonly profileTo?: string | undefined;
  /** Settings beside those that every service of the benchmark has. */
  readonly env?: Readonly<Record<string, string>>;
}

const pathTo = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const root = pathTo('../../');

/** A new folder on the disk that the repository is on: the usual place for temporary files may be memory. */
export function makeFolder(): string {
  const base = join(root, '.cache', 'bench');
  mkdirSync(base, { recursive: true });
  return mkdtempSync(join(base, 'run-'));
}

export const removeFolder = (folder: string): void => {
  rmSync(folder, { recursive: true, force: true });
};

/** Starts the service. Disposal stops it as an operator would and removes the folder that it was given for its data. */
export async function startService({ agent, agents, profileTo, keptIn, env }: ServiceOptions = {}): Promise<Server> {
  const folder = keptIn ?? makeFolder();
  const profiling =
    profileTo === undefined ? [] : ['--cpu-prof', '--cpu-prof-interval', '250', '--cpu-prof-dir', profileTo];
  const [command, ...args] = onServerCore([
    process.execPath,
    ...profiling,
    pathTo('../../services/standalone/main.ts'),
  ]);
  const child = spawn(command, args, {
    cwd: root,
    env: {
      ...processEnv(),
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      ...configOf(folder, { agent, agents }),
      LOG_LEVEL: 'warn',
      RATE_LIMIT_REQUESTS: '0',
      MAX_STREAMS_PER_PRINCIPAL: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await printedPort(child);
  return {
    port,
    pid: pidOf(child),
    [Symbol.asyncDispose]: async () => {
      await end(child, () => child.kill('SIGTERM'));
      if (keptIn === undefined) removeFolder(folder);
    },
  };
}

/** Starts the bare Koa app. */
export async function startBareKoa(): Promise<BareKoa> {
  const [command, ...args] = onServerCore([process.execPath, pathTo('./bare-koa.ts')]);
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    port,
    pid: pidOf(child),
    answer: async (reply) => {
      child.send(reply);
      await once(child, 'message');
    },
    [Symbol.asyncDispose]: () => end(child, () => child.disconnect()),
  };
}

/** Which agents it serves, as the environment says it. */
function configOf(
  folder: string,
  { agent, agents }: { readonly agent: string | undefined; readonly agents: readonly string[] | undefined },
): Readonly<Record<string, string>> {
  if (agent === undefined && !agents) return { SERVICE_CONFIG: join(root, 'service.json') };
  const path = join(folder, 'service.json');
  const locationOf = (name: string): string => `${pathTo('./agents.ts')}:${name}`;
  const named = agents
    ? { agents: Object.fromEntries(agents.map((name) => [name, locationOf('echo')])) }
    : { agent: locationOf(agent ?? '') };
  writeFileSync(path, JSON.stringify({ ...named, auth: null }));
  return { SERVICE_CONFIG: path, ...(agents ? { AGENT_REVISION: 'v1' } : {}) };
}

async function printedPort(child: ChildProcess): Promise<number> {
  if (child.stdout)
    for await (const line of createInterface({ input: child.stdout })) {
      const port = /listens on http:\/\/.*:(\d+)$/.exec(line)?.[1];
      if (port === undefined) process.stderr.write(`${line}\n`);
      else {
        child.stdout.pipe(process.stderr, { end: false });
        return Number(port);
      }
    }
  throw new Error('the service did not start');
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the server did not start');
  return pid;
}

async function end(child: ChildProcess, requestEnd: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  requestEnd();
  await exited;
}
