import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** A process of the service, as a user starts it. */
export interface ServiceProcess extends AsyncDisposable {
  /** What it says that it listens on. */
  readonly listensOn: string;
  readonly child: ChildProcess;
  /** Every line of standard output so far. */
  readonly lines: readonly string[];
  /** Sends the signal and gives the exit code; `null` when the signal itself ended the process. */
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
}

export interface ProcessOptions {
  /** The file to run. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether it can be talked to. */
  readonly talks?: boolean;
  readonly onLine?: (line: string) => void;
}

/**
 * Starts a process and waits until it says where it listens.
 * @throws Error with what it printed when it ends instead.
 */
export async function startProcess({ entry, env, talks = false, onLine }: ProcessOptions): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [entry], {
    env: { ...process.env, LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(talks ? ['ipc' as const] : [])],
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
      const said = / listens on (\S+)$/.exec(line)?.[1];
      if (said !== undefined) resolve(said);
    });
    void exited.then(([code]) => {
      reject(new Error(`exit code ${String(code)}: ${complaint.trim()}`));
    });
  });
  return {
    listensOn,
    child,
    lines,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL');
    },
  };
}
