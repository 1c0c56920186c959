import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { onPath } from './provisioned.ts';

/** A process of the service, as a user starts it. */
export interface ServiceProcess extends AsyncDisposable {
  /** What it says that it listens on. */
  readonly listensOn: string;
  readonly child: ChildProcess;
  /** Every line of standard output so far. */
  readonly lines: readonly string[];
  /** What it wrote to standard error so far. */
  readonly complaint: () => string;
  /** Sends the signal and gives the exit code; `null` when the signal itself ended the process. */
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
}

interface ProcessOptions {
  /** The file to run. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether it can be talked to. */
  readonly talks?: boolean;
  readonly onLine?: (line: string) => void;
  /**
   * Whether it hears of no signal but ours, and ends with us: of many that are started together, Ctrl-C is to reach the one
   * that started them, which ends the others in their order.
   */
  readonly tied?: boolean;
  /** The command that starts it with its own bounds, such as `prlimit --nofile=100 --`. */
  readonly through?: readonly string[];
}

/**
 * Starts a process and waits until it says where it listens.
 * @throws Error with what it printed when it ends instead.
 */
export async function startProcess({
  entry,
  env,
  talks = false,
  onLine,
  tied = false,
  through = [],
}: ProcessOptions): Promise<ServiceProcess> {
  const setpriv = tied ? onPath('setpriv') : undefined;
  const around = [...(setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'KILL', '--']), ...through];
  const [command = process.execPath, ...args] = around;
  const node = around.length === 0 ? [] : [process.execPath];
  const child = spawn(command, [...args, ...node, entry], {
    env: { ...process.env, LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(talks ? ['ipc' as const] : [])],
    detached: tied,
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
  const listensOn = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      onLine?.(line);
      const address = / listens on (\S+)$/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    // Its last words may arrive after its end.
    void (once(child, 'close') as Promise<[number | null]>).then(([code]) => {
      reject(new Error(`exit code ${String(code)}: ${complaint.trim()}`));
    });
  });
  return {
    listensOn,
    child,
    lines,
    complaint: () => complaint,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL');
    },
  };
}

interface Ended {
  readonly code: number | null;
  /** All that it printed. */
  readonly output: string;
}

/** Runs a command, which ends by itself. */
export async function runToEnd({
  entry,
  env,
  words = [],
}: Pick<ProcessOptions, 'entry' | 'env'> & { readonly words?: readonly string[] }): Promise<Ended> {
  const child = spawn(process.execPath, [entry, ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
