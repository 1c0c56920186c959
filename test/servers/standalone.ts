import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The service as a process of its own: what a user starts. */
export interface StandaloneProcess extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
  /** Every line of standard output so far. */
  readonly lines: readonly string[];
  /** Sends the signal and gives the exit code; `null` when the signal itself ended the process. */
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
}

const main = fileURLToPath(import.meta.resolve('@agent-workflow/standalone/main'));

/**
 * Starts the service and waits until it says where it listens. An `entry` of the tests' own can be talked to.
 * @throws Error with what it printed when it ends instead.
 */
export async function startStandalone(env: Readonly<Record<string, string>>, entry = main): Promise<StandaloneProcess> {
  const child = spawn(process.execPath, [entry], {
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(entry === main ? [] : ['ipc' as const])],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const lines: string[] = [];
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const stop = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const [code] = await exited;
    return code;
  };
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      const said = / listens on (\S+)$/.exec(line)?.[1];
      if (said !== undefined) resolve(said);
    });
    void exited.then(([code]) => {
      reject(new Error(`exit code ${String(code)}: ${complaint.trim()}`));
    });
  });
  return {
    url,
    child,
    lines,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL');
    },
  };
}

/** A folder that holds a `service.json` and data, removed with the test. */
export interface Workspace extends AsyncDisposable {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Makes the folder; `agent` is a file of `test/agents`, without its ending. `service` adds to `service.json`. */
export async function makeWorkspace(
  agent: string | null,
  service: Readonly<Record<string, unknown>> = {},
): Promise<Workspace> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-'));
  const module = fileURLToPath(new URL(`../agents/${String(agent)}.ts`, import.meta.url));
  const config = join(folder, 'service.json');
  await writeFile(config, JSON.stringify({ agent: agent === null ? null : `${module}:graph`, ...service }));
  return {
    folder,
    env: { SERVICE_CONFIG: config, DATA_DIR: join(folder, 'data') },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
