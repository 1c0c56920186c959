import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { serversFolder, type ServerName } from './provisioned.ts';
import type { RunOptions, ServerProcess } from './real-process.ts';

/** What a supervisor is told: the process that starts a server for others and ends it when they are gone. */
export interface Task {
  readonly server: ServerName;
  readonly options: RunOptions;
  /** Where it listens for its users. */
  readonly socket: string;
  /** Whoever holds this file's lock runs the one server that all share. Without it the server has one user. */
  readonly lock?: string;
  /** The process that wants the server. */
  readonly startedBy: number;
}

/** The right to use a server: it runs until this is disposed of, or the process that holds it ends, however it does. */
interface Lease extends AsyncDisposable {
  readonly port: number;
}

/** Disposal resolves once the server is gone. */
export type PrivateLease = Lease & Pick<ServerProcess, Order | 'readLog'>;

/** What can be done to a private server. */
type Order = 'kill' | 'stop' | 'freeze' | 'thaw' | 'restart' | 'wipe';

interface SharedOptions {
  readonly server: ServerName;
  /** The folder where those who share a server find each other. */
  readonly meeting?: string;
}

/** Longer than a supervisor waits for its server. */
const timeoutMs = 90_000;
const retryMs = 50;
/** Of a supervisor that could not even begin. */
const failed = 1;
const supervisor = fileURLToPath(new URL('./real-supervisor.ts', import.meta.url));

/**
 * Joins the users of the server that runs, or starts it: when many do so at once, it is started once and all join it.
 * @throws Error with what was printed when it does not start.
 */
export async function leaseShared({
  server,
  meeting = join(serversFolder(), 'running'),
}: SharedOptions): Promise<Lease> {
  await mkdir(meeting, { recursive: true, mode: 0o700 });
  const [socket, lock, log] = ['socket', 'lock', 'log'].map((kind) => join(meeting, `${server}.${kind}`)) as [
    ...[string, string, string],
  ];
  const task = { server, options: { isDurable: false }, socket, lock, startedBy: process.pid };
  return toLease(await untilAnswered(task, log));
}

/**
 * Starts a server that nobody else gets to know of.
 * @throws Error with what was printed when it does not start.
 */
export async function leasePrivate(server: ServerName, options: RunOptions): Promise<PrivateLease> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-private-'));
  const socket = join(folder, 'socket');
  const answer = await untilAnswered({ server, options, socket, startedBy: process.pid }, join(folder, 'log'));
  const lease = toLease(answer);
  const order = async (name: Order): Promise<void> => {
    await sendOrder(socket, name);
  };
  return {
    port: lease.port,
    kill: () => order('kill'),
    stop: () => order('stop'),
    freeze: () => order('freeze'),
    thaw: () => order('thaw'),
    restart: () => order('restart'),
    wipe: () => order('wipe'),
    readLog: () => sendOrder(socket, 'readLog'),
    [Symbol.asyncDispose]: async () => {
      // It answers once nothing is left of the server; its own end follows at once.
      await sendOrder(socket, 'end');
      await lease[Symbol.asyncDispose]();
    },
  };
}

/** Asks for a lease until a supervisor gives one, and starts a supervisor whenever there seems to be none. */
async function untilAnswered(task: Task, log: string): Promise<IncomingMessage> {
  let started: ChildProcess | undefined;
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const answer = await send(task.socket, `/lease?pid=${process.pid}`);
    if (answer?.statusCode === 200) return answer;
    if (answer) throw new Error(await text(answer));
    if (started?.exitCode === failed) break;
    if (!started || hasEnded(started)) started = await startSupervisor(task, log);
    await delay(retryMs);
  }
  throw new Error(`no supervisor of ${task.server} answers:\n${await readFile(log, 'utf8')}`);
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** In a session of its own: what ends the tests, Ctrl-C say, lets it clean up. */
async function startSupervisor(task: Task, log: string): Promise<ChildProcess> {
  await using file = await open(log, 'a');
  const child = spawn(process.execPath, [supervisor, JSON.stringify(task)], {
    detached: true,
    stdio: ['ignore', file.fd, file.fd],
  });
  child.unref();
  return child;
}

/** Tests that are over end their process although they hold the lease. */
function toLease(answer: IncomingMessage): Lease {
  answer.socket.unref();
  return {
    port: Number(answer.headers['x-port']),
    [Symbol.asyncDispose]: async () => {
      if (answer.closed) return;
      const closed = once(answer, 'close');
      answer.destroy();
      await closed;
    },
  };
}

/** Has the supervisor do something. @returns what it says to it. @throws Error with what it says when it did not do it. */
async function sendOrder(socket: string, order: string): Promise<string> {
  const answer = await send(socket, `/${order}`);
  const reply = answer && (await text(answer));
  if (reply !== undefined && answer?.statusCode === 200) return reply;
  throw new Error(reply ?? 'the supervisor is gone');
}

/** @returns the answer, or `undefined` when nobody is there, or goes away before it has answered. */
const send = (socketPath: string, path: string): Promise<IncomingMessage | undefined> =>
  new Promise((resolve) => {
    request({ socketPath, path, agent: false }, (answer) => {
      answer.on('error', () => undefined);
      resolve(answer);
    })
      .on('error', () => resolve(undefined))
      .end();
  });
