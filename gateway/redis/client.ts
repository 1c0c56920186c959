import { unavailable } from '@agent-workflow/kit/errors';
import { settledWithin } from '@agent-workflow/kit/life';
import { unwatchedPart, type PartHealth } from '@agent-workflow/runtime/health';
import type { Log } from '@agent-workflow/kit/log';
import { createClient } from 'redis';
import { maxReconnectMs, type Listener, type Redis } from './redis.ts';
import type { RedisConfig } from './settings.ts';

interface RedisOptions {
  readonly config: RedisConfig & { readonly REDIS_URL: string };
  readonly log: Log;
  readonly health?: PartHealth | undefined;
}

/** Milliseconds to connect, without traffic until a connection counts as dead, and between pings of an idle connection. */
const connectMs = 2000;
const deadMs = 10_000;
const pingMs = 3000;

/** The least duration of one turn of the event loop, in milliseconds. */
const turnMs = 1;

/** Connects. When Redis is unavailable the process starts without it and goes on trying. */
export async function openRedis({ config, log, health = unwatchedPart }: RedisOptions): Promise<Redis> {
  const listeners = new Map<string, Listener>();
  const connection = openConnection(config, { listeners, log, health });
  await settledWithin(connection.begun, connectMs);
  const send = (...command: readonly string[]): Promise<unknown> => connection.send(command);
  return {
    key: (name) => `${config.REDIS_KEY_PREFIX}${name}`,
    send,
    run: async ({ source, sha1 }, keys, ...values) => {
      const named = typeof keys === 'string' ? ['1', keys] : [String(keys.length), ...keys];
      const given = (): string[] => [...named, ...values.map((value) => (typeof value === 'string' ? value : value()))];
      const reply = await connection.send(['EVALSHA', sha1, ...given()], isUnknownScript);
      return reply === unknownScript ? send('EVAL', source, ...given()) : reply;
    },
    listen: (channel, listener) => {
      listeners.set(channel, listener);
      connection.listen(channel, listener);
    },
    isListening: connection.isListening,
    [Symbol.asyncDispose]: connection[Symbol.asyncDispose],
  };
}

type Client = ReturnType<typeof createClientOf>;

/** A client that rejects commands while it has no connection, and tries to connect for ever. */
const createClientOf = ({ REDIS_URL: url }: RedisOptions['config']) =>
  createClient({
    url,
    name: 'agent-workflow-gateway',
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    pingInterval: pingMs,
    // The driver's timeout ends when a command is written; ours ends with the reply.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: connectMs, socketTimeout: deadMs, reconnectStrategy: reconnectMs },
  });

/** The pause before an attempt: it doubles up to `maxReconnectMs`, less up to half by chance, so that replicas do not reconnect together. */
const reconnectMs = (retries: number): number =>
  Math.min(2 ** retries * 25, maxReconnectMs) * (0.5 + Math.random() / 2);

const unknownScript = Symbol('unknown script');
const isUnknownScript = (error: unknown): typeof unknownScript | undefined =>
  error instanceof Error && error.message.startsWith('NOSCRIPT') ? unknownScript : undefined;

interface Connection extends AsyncDisposable, Pick<Redis, 'listen' | 'isListening'> {
  /** Resolves when the first attempt to connect has succeeded or failed. */
  readonly begun: Promise<unknown>;
  /** Sends a command. `recover` may turn an error into a reply. */
  readonly send: (command: readonly string[], recover?: (error: unknown) => unknown) => Promise<unknown>;
}

interface ConnectionOptions {
  readonly listeners: ReadonlyMap<string, Listener>;
  readonly log: Log;
  readonly health: PartHealth;
}

/**
 * A connection that is closed and opened again when a command has no reply in time: a connection that hangs may hang for long,
 * and commands are rejected at once until the new connection is ready.
 */
function openConnection(config: RedisOptions['config'], { listeners, log, health }: ConnectionOptions): Connection {
  const subscribed = new Set<string>();
  let isAway = false;
  let isClosed = false;
  let replacedAt = -Infinity;
  let client = createClientOf(config);
  const begun = new Promise((resolve) => client.once('ready', resolve).once('error', resolve));
  connect(client);

  function connect(made: Client): void {
    made.on('error', (error: unknown) => {
      if (made === client && !made.isReady) reportAway(error);
    });
    made.on('ready', () => {
      if (made !== client) return;
      if (isAway) log.info('redis is back');
      health.works();
      isAway = false;
      for (const [channel, listener] of listeners) listen(channel, listener);
    });
    // The client emits the reason as an `error` event.
    made.connect().catch(() => undefined);
  }

  function reportAway(error: unknown): void {
    subscribed.clear();
    const err = unavailable(`REDIS_URL: ${error instanceof Error ? error.message : String(error)}`, error);
    if (!isAway && !isClosed) log.warn({ err }, 'redis is unavailable');
    isAway = true;
    if (!isClosed) health.fails('it is unavailable', err);
  }

  /** At most one replacement per `maxReconnectMs`: a server that answers every command with an error must not cause a connection for each. */
  const mayReplace = (used: Client): boolean =>
    used === client && !isClosed && performance.now() - replacedAt >= maxReconnectMs;

  function replace(error: unknown): void {
    const old = client;
    replacedAt = performance.now();
    reportAway(error);
    client = createClientOf(config);
    connect(client);
    old.destroy();
  }

  function listen(channel: string, { onMessage, onGap, onListening }: Listener): void {
    const used = client;
    onGap();
    if (!used.isReady) return;
    used.subscribe(channel, onMessage).then(
      () => {
        if (used !== client || !used.isReady) return;
        subscribed.add(channel);
        onListening?.();
      },
      (error: unknown) => {
        log.warn(
          { err: error, channel },
          'cannot subscribe to a channel of redis; messages on it are missed until the next connection',
        );
      },
    );
  }

  return {
    begun,
    send: async (command, recover) => {
      const used = client;
      const sent = used.sendCommand(command);
      // When this process was busy, the reply has arrived and is read in the next turn of the event loop.
      const hasReply = (await settledWithin(sent, config.REDIS_TIMEOUT_MS)) || (await settledWithin(sent, turnMs));
      try {
        if (hasReply) return await sent;
        throw new Error(`no reply to ${command[0] ?? ''} within ${String(config.REDIS_TIMEOUT_MS)} ms`);
      } catch (error) {
        const reply = recover?.(error);
        if (reply !== undefined) return reply;
        if ((!hasReply || isReadOnly(error)) && mayReplace(used)) replace(error);
        throw unavailable('a store that this request needs is unavailable; try again later', error);
      }
    },
    listen,
    isListening: (channel) => subscribed.has(channel),
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      if (client.isReady) await settledWithin(client.close(), config.REDIS_TIMEOUT_MS);
      client.destroy();
    },
  };
}

/** The server has become a replica after a failover: a new connection reaches the new primary. */
const isReadOnly = (error: unknown): boolean => error instanceof Error && error.message.startsWith('READONLY');
