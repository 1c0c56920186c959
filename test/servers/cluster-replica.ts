import { startProcess, type ServiceProcess } from './process.ts';

/** One process of a cluster, at an address that it keeps. */
export interface Replica extends AsyncDisposable {
  /** What it is and its number from 1: `gateway 1`. */
  readonly name: string;
  /** Where it listens: `host:port`. */
  readonly address: string;
  readonly isRunning: () => boolean;
  /** @throws Error when it does not run. */
  readonly pid: () => number;
  /** Starts it, after a death or an end too; resolves once it serves. `env` holds for this start and those after it. */
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<void>;
  /** SIGKILL; resolves once it is gone. */
  readonly kill: () => Promise<void>;
  /** SIGTERM: it drains. Resolves with its exit code. */
  readonly stop: () => Promise<number | null>;
  /** Drains it and starts it again. */
  readonly restart: () => Promise<void>;
  /** From the next start on it is of this version. */
  readonly upgrade: () => void;
  /** Every line that it has printed, over all its starts; its log among them. */
  readonly lines: () => readonly string[];
}

interface ReplicaOptions {
  readonly name: string;
  readonly address: string;
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  /** What it is of an earlier version, until it is upgraded. */
  readonly earlier?: EarlierReplica;
  readonly onLine?: (name: string, line: string) => void;
  /** Called with each process of it once that has ended, by itself or by its replica. */
  readonly onEnd?: (end: ReplicaEnd) => void;
}

/** A process of an earlier version: its file, and what of the environment differs. */
interface EarlierReplica {
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
}

/** How a process ended: by a signal, or by itself with a code. */
export interface ReplicaEnd {
  readonly name: string;
  readonly pid: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Makes a replica that is not started. Disposal kills it. */
export function createReplica({ name, address, entry, env, earlier, onLine, onEnd }: ReplicaOptions): Replica {
  const lines: string[] = [];
  let running: ServiceProcess | undefined;
  let given = env;
  let older = earlier;
  const readLine = (line: string): void => {
    lines.push(line);
    onLine?.(name, line);
  };
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const ending = running;
    running = undefined;
    if (!ending) return null;
    const code = await ending.stop(signal);
    for (const line of ending.complaint().split('\n')) if (line !== '') readLine(line);
    return code;
  };
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    if (running) throw new Error(`${name} runs already`);
    given = { ...given, ...more };
    const version = older ? { entry: older.entry, env: { ...given, ...older.env } } : { entry, env: given };
    running = await startProcess({ ...version, tied: true, onLine: readLine });
    const { child } = running;
    if (onEnd) child.once('exit', (code, signal) => onEnd({ name, pid: child.pid ?? 0, code, signal }));
  };
  return {
    name,
    address,
    start,
    isRunning: () => running?.child.exitCode === null && running.child.signalCode === null,
    pid: () => {
      const pid = running?.child.pid;
      if (pid === undefined) throw new Error(`${name} does not run`);
      return pid;
    },
    kill: async () => {
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
    restart: async () => {
      await end('SIGTERM');
      await start();
    },
    upgrade: () => {
      older = undefined;
    },
    lines: () => lines,
    [Symbol.asyncDispose]: async () => {
      await end('SIGKILL');
    },
  };
}
