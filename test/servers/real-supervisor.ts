import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { stopSignal } from '@agent-workflow/kit/life';
import { cassandraRecipe } from './cassandra.ts';
import { natsRecipe } from './nats.ts';
import type { Task } from './real-lease.ts';
import { isAlive, openServerProcess, type Recipe, type ServerProcess } from './real-process.ts';
import { postgresRecipe } from './postgres.ts';
import { redisRecipe } from './redis.ts';
import { s3Recipe } from './s3.ts';
import { weaviateRecipe } from './weaviate.ts';

const recipes: Readonly<Record<Task['server'], Recipe>> = {
  redis: redisRecipe,
  cassandra: cassandraRecipe,
  postgres: postgresRecipe,
  nats: natsRecipe,
  versitygw: s3Recipe,
  weaviate: weaviateRecipe,
};

/** Whoever had this process started comes within milliseconds, also on a busy machine within seconds. */
const comingMs = 5000;
/**
 * So long is a shared server kept for the next user while a process that has used it is alive: the test files of one run use
 * it one after the other.
 */
const lingerMs = 20_000;
const pollMs = 50;

/** Those who use the server: the replies that stay open to them, and the processes they came from. */
interface Users {
  readonly replies: Set<ServerResponse>;
  readonly pids: Set<number>;
}

type Orders = Readonly<Record<string, () => Promise<string>>>;

/** Runs one server for as long as it has users. Of those who would run the shared one, all but one end at once. */
async function supervise({ server, options, socket, lock, startedBy }: Task): Promise<void> {
  await using opened = new AsyncDisposableStack();
  if (lock === undefined) opened.defer(() => rm(dirname(socket), { recursive: true, force: true }));
  else if (!opened.use(hold(lock)).isHeld) return;
  const users: Users = { replies: new Set(), pids: new Set([startedBy]) };
  const starting = Promise.withResolvers<ServerProcess>();
  const begun = starting.promise.catch(() => undefined);
  const dispose = async (): Promise<void> => (await begun)?.[Symbol.asyncDispose]();
  const orders = lock === undefined ? ordersOf(starting.promise, dispose) : {};
  const reception = await openReception(socket, { starting: starting.promise, users, orders });
  opened.defer(dispose);
  opened.use(reception);
  if (!(await comesAnybody(users))) {
    starting.reject(new Error('nobody came'));
    return;
  }
  starting.resolve(openServerProcess(recipes[server], options));
  const isOver = begun.then((process) => {
    if (!process || lock === undefined) return untilUnused(users, 0);
    return Promise.race([process.broken, untilUnused(users, lingerMs)]);
  });
  await Promise.race([isOver, once(stopSignal(), 'abort')]);
}

/** Takes a lock that ends with this process, whichever way it ends. */
function hold(path: string): Disposable & { readonly isHeld: boolean } {
  const db = new DatabaseSync(path);
  const release = (): void => db.close();
  try {
    db.exec('BEGIN EXCLUSIVE');
    return { isHeld: true, [Symbol.dispose]: release };
  } catch {
    return { isHeld: false, [Symbol.dispose]: release };
  }
}

/** What the user of a private server can have done to it, and what is said when it is done. */
const ordersOf = (starting: Promise<ServerProcess>, dispose: () => Promise<void>): Orders => {
  const done = (act: (server: ServerProcess) => Promise<void>) => (): Promise<string> =>
    starting.then(act).then(() => 'done');
  return {
    kill: done(({ kill }) => kill()),
    stop: done(({ stop }) => stop()),
    freeze: done(({ freeze }) => freeze()),
    thaw: done(({ thaw }) => thaw()),
    restart: done(({ restart }) => restart()),
    wipe: done(({ wipe }) => wipe()),
    end: done(dispose),
    readLog: async () => (await starting).readLog(),
  };
};

interface ReceptionOptions {
  readonly starting: Promise<ServerProcess>;
  readonly users: Users;
  readonly orders: Orders;
}

/** Listens at the socket, whose file an earlier process may have left behind. */
async function openReception(socket: string, options: ReceptionOptions): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await rm(socket, { force: true });
  const listening = Promise.withResolvers<undefined>();
  server.once('error', listening.reject).listen(socket, () => listening.resolve(undefined));
  await listening.promise;
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A lease is a reply that does not end: its connection closes with the process of the user at the latest. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { starting, users, orders }: ReceptionOptions,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://supervisor');
  const order = orders[pathname.slice(1)];
  if (order) response.end(await order());
  else {
    users.replies.add(response);
    users.pids.add(Number(searchParams.get('pid')));
    response.once('close', () => users.replies.delete(response));
    response.writeHead(200, { 'x-port': (await starting).port }).flushHeaders();
  }
}

/**
 * Whether the process that had this one started, or another, comes before it dies. It need not: it may have found another
 * supervisor, and this one was started too late to find the lock taken.
 */
async function comesAnybody({ replies, pids }: Users): Promise<boolean> {
  const deadline = performance.now() + comingMs;
  while (replies.size === 0) {
    if (performance.now() > deadline || ![...pids].some(isAlive)) return false;
    await delay(pollMs);
  }
  return true;
}

async function untilUnused({ replies, pids }: Users, keptMs: number): Promise<void> {
  let lastUsed = performance.now();
  while (true) {
    await delay(pollMs, undefined, { ref: false });
    if (replies.size > 0) lastUsed = performance.now();
    else if (performance.now() - lastUsed > keptMs || ![...pids].some(isAlive)) return;
  }
}

await supervise(JSON.parse(process.argv[2] ?? '') as Task);
