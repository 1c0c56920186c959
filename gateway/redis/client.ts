import { unavailable } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import { unwatchedPart, type PartHealth } from '@agent-workflow/runtime/health';
import type { Log } from '@agent-workflow/kit/log';
import { createClient } from 'redis';
import { longestWaitMs, type Listener, type Redis } from './redis.ts';
import type { StoreConfig } from './settings.ts';

export interface RedisOptions {
  readonly config: StoreConfig & { readonly REDIS_URL: string };
  readonly log: Log;
  readonly health?: PartHealth | undefined;
}

/** Milliseconds to connect in, and without any traffic before a connection counts as dead; one that is idle is asked in between. */
const connectMs = 2000;
const deadMs = 10_000;
const idleMs = 3000;

/** What a turn of the event loop takes at least, in milliseconds. */
const turnMs = 1;

/** Connects; when Redis is not there the process starts without it, and goes on trying. */
export async function openRedis({ config, log, health = unwatchedPart }: RedisOptions): Promise<Redis> {
  const listeners = new Map<string, Listener>();
  const line = openLine(config, { listeners, log, health });
  await settledWithin(line.begun, connectMs);
  const send = (...command: readonly string[]): Promise<unknown> => line.send(command);
  return {
    key: (name) => `${config.REDIS_KEY_PREFIX}${name}`,
    send,
    run: async ({ source, sha1 }, keys, ...values) => {
      const given = typeof keys === 'string' ? ['1', keys, ...values] : [String(keys.length), ...keys, ...values];
      const known = await line.send(['EVALSHA', sha1, ...given], isUnknownScript);
      return known === unknownScript ? send('EVAL', source, ...given) : known;
    },
    listen: (channel, listener) => {
      listeners.set(channel, listener);
      line.listen(channel, listener);
    },
    isListening: line.isListening,
    [Symbol.asyncDispose]: line[Symbol.asyncDispose],
  };
}

type Client = ReturnType<typeof createClientOf>;

/** A client that refuses commands while it has no connection, and tries to have one for ever. */
const createClientOf = ({ REDIS_URL: url }: RedisOptions['config']) =>
  createClient({
    url,
    name: 'agent-workflow-gateway',
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    pingInterval: idleMs,
    // The driver's own bound ends when a command is written; ours ends with its reply.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: connectMs, socketTimeout: deadMs, reconnectStrategy: waitMs },
  });

/** Twice as long each time, up to `longestWaitMs`, less a share of chance: replicas that lost Redis together come back apart. */
const waitMs = (retries: number): number => Math.min(2 ** retries * 25, longestWaitMs) * (0.5 + Math.random() / 2);

const unknownScript = Symbol('unknown script');
const isUnknownScript = (error: unknown): typeof unknownScript | undefined =>
  error instanceof Error && error.message.startsWith('NOSCRIPT') ? unknownScript : undefined;

interface Line extends AsyncDisposable, Pick<Redis, 'listen' | 'isListening'> {
  /** Resolves with the first connection, or the first that failed. */
  readonly begun: Promise<unknown>;
  /** Sends a command; `answerTo` may take an error for an answer. */
  readonly send: (command: readonly string[], answerTo?: (error: unknown) => unknown) => Promise<unknown>;
}

interface LineParts {
  readonly listeners: ReadonlyMap<string, Listener>;
  readonly log: Log;
  readonly health: PartHealth;
}

/**
 * A connection that is given up and made anew when a command gets no answer in time: what hangs may hang for long, and
 * until a new connection has answered nobody else waits for it.
 */
function openLine(config: RedisOptions['config'], { listeners, log, health }: LineParts): Line {
  const heard = new Set<string>();
  let isAway = false;
  let isClosed = false;
  let renewedAt = -Infinity;
  let client = createClientOf(config);
  const begun = new Promise((resolve) => client.once('ready', resolve).once('error', resolve));
  connect(client);

  function connect(made: Client): void {
    made.on('error', (error: unknown) => {
      if (made === client && !made.isReady) tellAway(error);
    });
    made.on('ready', () => {
      if (made !== client) return;
      if (isAway) log.info('redis is back');
      health.works();
      isAway = false;
      for (const [channel, listener] of listeners) listen(channel, listener);
    });
    // Why it failed is told as an error of the client.
    made.connect().catch(() => undefined);
  }

  function tellAway(error: unknown): void {
    heard.clear();
    if (!isAway && !isClosed) log.warn({ err: error }, 'redis is away');
    isAway = true;
    if (!isClosed) health.fails('it is away', error);
  }

  /** What answers at once, and always wrongly, must not be connected to all the time. */
  const mayRenew = (asked: Client): boolean =>
    asked === client && !isClosed && performance.now() - renewedAt >= longestWaitMs;

  function renew(error: unknown): void {
    const old = client;
    renewedAt = performance.now();
    tellAway(error);
    client = createClientOf(config);
    connect(client);
    old.destroy();
  }

  function listen(channel: string, { onMessage, onGap, onListening }: Listener): void {
    const asked = client;
    onGap();
    if (!asked.isReady) return;
    asked.subscribe(channel, onMessage).then(
      () => {
        if (asked !== client || !asked.isReady) return;
        heard.add(channel);
        onListening?.();
      },
      (error: unknown) => {
        log.warn({ err: error, channel }, 'redis lets nobody listen');
      },
    );
  }

  return {
    begun,
    send: async (command, answerTo) => {
      const asked = client;
      const sent = asked.sendCommand(command);
      // When it was this process that was busy, the answer has come and is read in the next turn.
      const isAnswered = (await settledWithin(sent, config.REDIS_TIMEOUT_MS)) || (await settledWithin(sent, turnMs));
      try {
        if (isAnswered) return await sent;
        throw new Error(`no answer to ${command[0] ?? ''} within ${String(config.REDIS_TIMEOUT_MS)} ms`);
      } catch (error) {
        const answer = answerTo?.(error);
        if (answer !== undefined) return answer;
        if ((!isAnswered || isReadOnly(error)) && mayRenew(asked)) renew(error);
        throw unavailable('what this needs is kept in a store that is away', error);
      }
    },
    listen,
    isListening: (channel) => heard.has(channel),
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      if (client.isReady) await settledWithin(client.close(), config.REDIS_TIMEOUT_MS);
      client.destroy();
    },
  };
}

/** What was the primary is a replica now: the address leads to another one. */
const isReadOnly = (error: unknown): boolean => error instanceof Error && error.message.startsWith('READONLY');
