import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { unavailable } from '@agent-workflow/kit/errors';
import { unwatchedPart, type PartHealth } from '@agent-workflow/runtime/health';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import {
  connect,
  credsAuthenticator,
  ErrorCode,
  Events,
  NatsError,
  RequestStrategy,
  type ConnectionOptions,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from 'nats';

export interface NatsClientOptions {
  /** `nats://` or `tls://` addresses, divided by commas; a user and a password may stand in the first. */
  readonly url: string;
  /** What the server lists the connection as. */
  readonly name: string;
  readonly token?: string | undefined;
  /** Path of a `.creds` file. */
  readonly credsFile?: string | undefined;
  readonly tlsCaFile?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
  readonly logger: Log;
  /** Whom losses of the connection are reported to. */
  readonly health?: PartHealth;
}

export interface RequestOptions {
  readonly headers?: MsgHdrs;
  readonly timeoutMs?: number;
}

/** One connection to NATS, shared by the adapters of a process. It reconnects for ever. */
export interface NatsClient extends AsyncDisposable {
  readonly connection: NatsConnection;
  readonly isConnected: () => boolean;
  /** Resolves once the server is there. @throws the signal's reason when it fires first; Unavailable once closed. */
  readonly connected: (signal?: AbortSignal) => Promise<void>;
  /** Calls `listener` each time that the connection is there again, after a loss. */
  readonly onReconnect: (listener: () => void) => Disposable;
  /**
   * Asks, and waits for one answer. Does not outlast the connection: what was asked before a loss is not answered after it.
   * @throws Unavailable when the connection is lost, a NatsError otherwise.
   */
  readonly request: (subject: string, payload: Uint8Array, options?: RequestOptions) => Promise<Msg>;
  /** Asks, and gives every answer up to an empty one, which ends them. Fails as `request` does. */
  readonly requestMany: (subject: string, payload: Uint8Array) => Promise<readonly Msg[]>;
  /** Resolves when the server has taken in what was sent so far, and what it sent before has come in. */
  readonly flush: (timeoutMs: number) => Promise<void>;
}

const connectTimeoutMs = 5000;
const requestTimeoutMs = 5000;
/** A server that answers no ping for three of these is thought gone. */
const pingIntervalMs = 5000;
/** Tries to reconnect begin at once and come a quarter to half a second apart, so that replicas do not come all at once. */
const reconnectWaitMs = 250;
const farewellMs = 2000;

/**
 * Connects, and goes on trying until the server is there.
 * @throws the signal's reason when it fires first.
 */
export async function openNatsClient(options: NatsClientOptions, signal?: AbortSignal): Promise<NatsClient> {
  const settings = await toConnectionOptions(options);
  const { logger, health = unwatchedPart } = options;
  for (let told = false; ; told = true) {
    signal?.throwIfAborted();
    try {
      const connection = await connect(settings);
      health.works();
      return createClient(connection, logger, health);
    } catch (error) {
      if (isRefusal(error)) throw error;
      health.fails(awayReason, error);
      if (!told) logger.warn({ err: error }, 'NATS is not there yet; trying on');
      await pause(reconnectWaitMs, signal);
    }
  }
}

async function toConnectionOptions(options: NatsClientOptions): Promise<ConnectionOptions> {
  const urls = options.url.split(',').map((text) => new URL(text.trim()));
  const [first] = urls;
  const { tlsCaFile: caFile, tlsCertFile: certFile, tlsKeyFile: keyFile } = options;
  const tls = urls.some(({ protocol }) => protocol === 'tls:') || caFile !== undefined || certFile !== undefined;
  return {
    servers: urls.map(toServer),
    name: options.name,
    timeout: connectTimeoutMs,
    pingInterval: pingIntervalMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectWaitMs,
    reconnectJitter: reconnectWaitMs,
    reconnectJitterTLS: reconnectWaitMs,
    // A password that was changed meanwhile is answered by trying on, as an operator who changes it back expects.
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true,
    ...(first && first.username !== ''
      ? { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }
      : {}),
    ...(options.token === undefined ? {} : { token: options.token }),
    ...(options.credsFile === undefined
      ? {}
      : { authenticator: credsAuthenticator(await readFile(options.credsFile)) }),
    ...(tls ? { tls: { ...given({ caFile, certFile, keyFile }) } } : {}),
  };
}

const toServer = ({ hostname, port }: URL): string => {
  const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
  return port === '' ? host : `${host}:${port}`;
};

const given = <T extends Record<string, string | undefined>>(values: T): Partial<Record<keyof T, string>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<
    Record<keyof T, string>
  >;

const awayReason = 'it is away';

function createClient(connection: NatsConnection, logger: Log, health: PartHealth): NatsClient {
  let isConnected = true;
  let closed = false;
  const underWay = new Set<(error: Error) => void>();
  const awaited = new Set<() => void>();
  const listeners = new Set<() => void>();

  const lose = (): void => {
    isConnected = false;
    const error = away();
    for (const reject of underWay) reject(error);
    underWay.clear();
  };

  const regain = (): void => {
    isConnected = true;
    for (const go of awaited) go();
    for (const listener of listeners) listener();
  };

  const watch = async (): Promise<void> => {
    for await (const { type, data } of connection.status()) {
      if (type === Events.Disconnect) {
        lose();
        if (closed) continue;
        logger.warn('the connection to NATS is lost; reconnecting');
        health.fails(awayReason, away());
      } else if (type === Events.Reconnect) {
        logger.info('NATS is there again');
        health.works();
        regain();
      } else if (type === Events.Error) {
        logger.warn({ code: data }, 'NATS reports an error');
      }
    }
  };
  void watch();
  void connection.closed().then(() => {
    closed = true;
    lose();
    for (const go of awaited) go();
  });

  const whileConnected = async <T>(work: () => Promise<T>): Promise<T> => {
    if (!isConnected || closed) throw away();
    return new Promise<T>((resolve, reject) => {
      underWay.add(reject);
      work()
        .then(resolve, (error: unknown) => reject(isLoss(error) ? away(error) : (error as Error)))
        .finally(() => underWay.delete(reject));
    });
  };

  return {
    connection,
    isConnected: () => isConnected && !closed,

    connected: async (signal) => {
      while (!isConnected && !closed) await called(awaited, signal);
      if (closed) throw away();
    },

    onReconnect: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },

    request: (subject, payload, { headers, timeoutMs = requestTimeoutMs } = {}) =>
      whileConnected(async () =>
        connection.request(subject, payload, { timeout: timeoutMs, ...(headers ? { headers } : {}) }),
      ),

    requestMany: (subject, payload) =>
      whileConnected(async () => {
        const options = { strategy: RequestStrategy.SentinelMsg, maxWait: requestTimeoutMs };
        const messages: Msg[] = [];
        for await (const message of await connection.requestMany(subject, payload, options)) messages.push(message);
        return messages;
      }),

    flush: async (timeoutMs) =>
      whileConnected(async () => {
        const late = Promise.withResolvers<never>();
        const timer = setTimeout(() => late.reject(away()), timeoutMs);
        try {
          await Promise.race([connection.flush(), late.promise]);
        } finally {
          clearTimeout(timer);
        }
      }),

    [Symbol.asyncDispose]: async () => {
      if (closed) return;
      closed = true;
      // A server that is away takes no farewell.
      if (!isConnected || !(await settledWithin(connection.drain(), farewellMs))) await connection.close();
    },
  };
}

const away = (cause?: unknown): Error => unavailable('the event bus cannot be reached right now', cause);

/** Any error of NATS in the words of the domain. */
export function fromNatsError(error: unknown): unknown {
  return error instanceof NatsError ? away(error) : error;
}

/** Resolves when one of `listeners` is called. @throws the signal's reason when it fires first. */
export async function called(listeners: Set<() => void>, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    signal?.throwIfAborted();
    const leave = (): void => {
      listeners.delete(go);
      signal?.removeEventListener('abort', stop);
    };
    const go = (): void => {
      leave();
      resolve();
    };
    const stop = (): void => {
      leave();
      reject(signal?.reason as Error);
    };
    listeners.add(go);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Resolves after `ms`. @throws the signal's reason when it fires first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const over = new Set<() => void>();
  const timer = setTimeout(() => {
    for (const go of over) go();
  }, ms);
  try {
    await called(over, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Errors that trying on does not mend: they stop the start. */
const refusals: ReadonlySet<string> = new Set(['AUTHORIZATION_VIOLATION', 'BAD_CREDS', 'BAD_AUTHENTICATION']);
const isRefusal = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof NatsError && refusals.has(error.code));

/** Nobody listens on the subject: the stream or consumer behind it is not there. */
export const isNoResponder = (error: unknown): boolean => error instanceof NatsError && error.code === '503';

/** Whether it says no more than that the connection was lost. */
const isLoss = (error: unknown): boolean =>
  error instanceof NatsError && error.code === ErrorCode.Disconnect.toString();

/** Whether asking again may do: the connection was lost, nobody answered, or JetStream is busy finding its leaders. */
export const isNotReady = (error: unknown): boolean =>
  isLoss(error) ||
  isNoResponder(error) ||
  (error instanceof NatsError && (error.code === ErrorCode.Timeout.toString() || error.api_error?.code === busy));

const busy = 503;

/** What JetStream answered, where it refused. */
export const apiErrorOf = (error: unknown): { readonly code: number; readonly description: string } | undefined => {
  if (!(error instanceof NatsError) || !error.api_error) return undefined;
  const { err_code: code = 0, description } = error.api_error;
  return { code, description };
};
