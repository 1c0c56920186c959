import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { ConfigError } from '@agent-workflow/kit/env';
import { unavailable } from '@agent-workflow/kit/errors';
import { unwatchedPart, type PartHealth } from '@agent-workflow/runtime/health';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { retry, type Backoff } from '@agent-workflow/kit/retry';
import {
  connect,
  createInbox,
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
import { checkSubjects } from './checked-subjects.ts';
import { createRefusals, type RefusableOperation } from './refusals.ts';

export interface NatsClientOptions {
  /** `nats://` or `tls://` addresses, separated by commas. The first may hold a user and a password. */
  readonly url: string;
  /** The name under which the server lists the connection. */
  readonly name: string;
  readonly token?: string | undefined;
  /** Path of a `.creds` file. */
  readonly credsFile?: string | undefined;
  readonly tlsCaFile?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
  /** What the subjects of replies begin with; `_INBOX` unless given. */
  readonly inboxPrefix?: string | undefined;
  readonly log: Log;
  /** Gets reports of the connection, lost and regained. */
  readonly health?: PartHealth;
  /** Called with each message and subscription that the server refuses for want of a permission. */
  readonly onRefused?: ((operation: RefusableOperation) => void) | undefined;
}

interface RequestOptions {
  readonly headers?: MsgHdrs;
  readonly timeoutMs?: number;
}

/** One connection to NATS, shared by the adapters of a process. It reconnects for ever. */
export interface NatsClient extends AsyncDisposable {
  readonly connection: NatsConnection;
  /** A new subject for replies. */
  readonly inbox: () => string;
  readonly isConnected: () => boolean;
  /** Resolves once the connection is up. @throws the signal's reason when it fires first; Unavailable once closed. */
  readonly connected: (signal?: AbortSignal) => Promise<void>;
  /** Calls `listener` each time that a lost connection is up again. */
  readonly onReconnect: (listener: () => void) => Disposable;
  /**
   * Sends a request and waits for one reply. A loss of the connection ends it, because no reply arrives after that.
   * @throws Unavailable when the connection is lost, a NatsError otherwise.
   */
  readonly request: (subject: string, payload: Uint8Array, options?: RequestOptions) => Promise<Msg>;
  /** Sends a request and resolves with all replies up to the last one, which it includes. Fails as `request` does. */
  readonly requestMany: (
    subject: string,
    payload: Uint8Array,
    isLast: (reply: Msg) => boolean,
  ) => Promise<readonly Msg[]>;
  /** Resolves when the server has everything that was sent so far, and everything that it sent before has arrived. */
  readonly flush: (timeoutMs: number) => Promise<void>;
}

const connectTimeoutMs = 5000;
const requestTimeoutMs = 5000;
/** A server that answers no ping for three intervals counts as gone. */
const pingIntervalMs = 5000;
/** Reconnects begin at once and are a quarter to half a second apart, so that replicas do not arrive all at once. */
const reconnectWaitMs = 250;
/** How long closing waits until everything is sent. */
const drainMs = 2000;

/**
 * Connects, and tries until the server is there.
 * @throws ConfigError when the server refuses what it is signed in to with; the signal's reason when it fires first.
 */
export async function openNatsClient(options: NatsClientOptions, signal?: AbortSignal): Promise<NatsClient> {
  const settings = await toConnectionOptions(options);
  const { health = unwatchedPart } = options;
  const connection = await retry(async () => connect(settings), {
    ...steadily(reconnectWaitMs),
    signal,
    mayHelp: (error) => !isRefusal(error),
    onRetry: (error) => health.fails(awayReason, noServer(options.url, error)),
  }).catch((error: unknown) => {
    throw isSignInRefusal(error) ? new ConfigError(signInFault(options, error), { cause: error }) : error;
  });
  health.works();
  return createClient(checkSubjects(connection), { ...options, health });
}

/** For the log: which servers do not answer, without the user and the password that an address may hold. */
const noServer = (url: string, error: unknown): Error => {
  const servers = url.split(',').map((text) => toServer(new URL(text.trim())));
  return unavailable(`no NATS server of NATS_URL answers: ${servers.join(', ')}`, error);
};

/** What the operator has to change: the setting that this process signs in with. */
function signInFault({ url, token, credsFile }: NatsClientOptions, { code }: NatsError): string {
  if (code === ErrorCode.BadCreds.toString()) return 'NATS_CREDS_FILE: the file holds no credentials';
  if (credsFile !== undefined) return 'NATS_CREDS_FILE: the server refuses the credentials';
  if (token !== undefined) return 'NATS_TOKEN: the server refuses the token';
  const [first = ''] = url.split(',');
  return new URL(first.trim()).username === ''
    ? 'NATS_URL: the server refuses a process without a user, a token or credentials'
    : 'NATS_URL: the server refuses the user or the password';
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
    // A client whose password was changed tries on, so that it recovers when the operator changes it back.
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true,
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    ...(first && first.username !== ''
      ? { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }
      : {}),
    ...(options.token === undefined ? {} : { token: options.token }),
    ...(options.credsFile === undefined
      ? {}
      : { authenticator: credsAuthenticator(await readCreds(options.credsFile)) }),
    ...(tls ? { tls: { ...given({ caFile, certFile, keyFile }) } } : {}),
  };
}

async function readCreds(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new ConfigError(`NATS_CREDS_FILE: ${file} cannot be read`, { cause: error });
  }
}

const toServer = ({ hostname, port }: URL): string => {
  const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
  return port === '' ? host : `${host}:${port}`;
};

const given = <T extends Record<string, string | undefined>>(values: T): Partial<Record<keyof T, string>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<
    Record<keyof T, string>
  >;

const awayReason = 'it is unavailable';

type ClientOptions = Pick<NatsClientOptions, 'log' | 'inboxPrefix' | 'onRefused'> & { readonly health: PartHealth };

function createClient(connection: NatsConnection, options: ClientOptions): NatsClient {
  const { log, health, inboxPrefix } = options;
  const addRefusal = createRefusals(log, options.onRefused);
  let isConnected = true;
  let closed = false;
  const rejectUnderWay = new Set<(error: Error) => void>();
  const connectedWaiters = new Set<() => void>();
  const listeners = new Set<() => void>();

  const lose = (): void => {
    isConnected = false;
    const error = away();
    for (const reject of rejectUnderWay) reject(error);
    rejectUnderWay.clear();
  };

  const regain = (): void => {
    isConnected = true;
    for (const resume of connectedWaiters) resume();
    for (const listener of listeners) listener();
  };

  const watch = async (): Promise<void> => {
    for await (const { type, data, permissionContext } of connection.status()) {
      if (type === Events.Disconnect) {
        lose();
        if (closed) continue;
        log.warn('the connection to NATS is lost; reconnecting');
        health.fails(awayReason, away());
      } else if (type === Events.Reconnect) {
        log.info('the connection to NATS is up again');
        health.works();
        regain();
      } else if (permissionContext) {
        addRefusal(permissionContext);
      } else if (type === Events.Error) {
        log.warn({ code: data }, 'NATS reports an error');
      }
    }
  };
  void watch();
  void connection.closed().then(() => {
    closed = true;
    lose();
    for (const resume of connectedWaiters) resume();
  });

  const whileConnected = async <T>(work: () => Promise<T>): Promise<T> => {
    if (!isConnected || closed) throw away();
    return new Promise<T>((resolve, reject) => {
      rejectUnderWay.add(reject);
      work()
        .then(resolve, (error: unknown) => reject(isLoss(error) ? away(error) : (error as Error)))
        .finally(() => rejectUnderWay.delete(reject));
    });
  };

  return {
    connection,
    inbox: () => createInbox(inboxPrefix),
    isConnected: () => isConnected && !closed,

    connected: async (signal) => {
      while (!isConnected && !closed) await called(connectedWaiters, signal);
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

    requestMany: (subject, payload, isLast) =>
      whileConnected(async () => {
        const options = { strategy: RequestStrategy.Timer, maxWait: requestTimeoutMs };
        const messages: Msg[] = [];
        for await (const message of await connection.requestMany(subject, payload, options)) {
          messages.push(message);
          if (isLast(message)) break;
        }
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
      // Without a connection there is nothing to drain to.
      if (!isConnected || !(await settledWithin(connection.drain(), drainMs))) await connection.close();
    },
  };
}

const away = (cause?: unknown): Error => unavailable('the event bus cannot be reached right now', cause);

/** Translates an error of NATS to `Unavailable`; other errors pass. */
export function fromNatsError(error: unknown): unknown {
  return error instanceof NatsError ? away(error) : error;
}

/** Resolves when one of `listeners` is called. @throws the signal's reason when it fires first. */
export async function called(listeners: Set<() => void>, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    signal?.throwIfAborted();
    const leave = (): void => {
      listeners.delete(call);
      signal?.removeEventListener('abort', stop);
    };
    const call = (): void => {
      leave();
      resolve();
    };
    const stop = (): void => {
      leave();
      reject(signal?.reason as Error);
    };
    listeners.add(call);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Attempts at equal intervals: the server is asked for one replica alone, and outages of it are short. */
export const steadily = (ms: number): Backoff => ({ firstMs: ms, maxMs: ms, factor: 1, jitter: 0 });

/** Errors that another attempt does not change: they stop the start. */
const refusals: ReadonlySet<string> = new Set(['AUTHORIZATION_VIOLATION', 'BAD_CREDS', 'BAD_AUTHENTICATION']);
const isSignInRefusal = (error: unknown): error is NatsError => error instanceof NatsError && refusals.has(error.code);
const isRefusal = (error: unknown): boolean => error instanceof TypeError || isSignInRefusal(error);

/** Whether the user of this process may not do what was asked for. */
export const isForbidden = (error: unknown): boolean => error instanceof NatsError && error.isPermissionError();

/** Whether the subject has no subscriber: the stream or consumer behind it does not exist. */
export const isNoResponder = (error: unknown): boolean => error instanceof NatsError && error.code === '503';

/** Whether the connection was lost while the request was under way. */
const isLoss = (error: unknown): boolean =>
  error instanceof NatsError && error.code === ErrorCode.Disconnect.toString();

/** Whether another attempt may succeed: the connection was lost, nothing answered, or JetStream is electing its leaders. */
export const isNotReady = (error: unknown): boolean =>
  isLoss(error) ||
  isNoResponder(error) ||
  (error instanceof NatsError && (error.code === ErrorCode.Timeout.toString() || error.api_error?.code === busy));

const busy = 503;

/** The error code (`err_code`) and text of a refusal by JetStream; `undefined` for any other error. */
export const apiErrorOf = (error: unknown): { readonly code: number; readonly description: string } | undefined => {
  if (!(error instanceof NatsError) || !error.api_error) return undefined;
  const { err_code: code = 0, description } = error.api_error;
  return { code, description };
};

/** The sequence that a message names as its subject's last one is not the last one. The server has a code for each of its checks. */
const wrongLastSequence: ReadonlySet<number> = new Set([10_071, 10_164]);

/** Whether JetStream refused a message by its `Nats-Expected-Last-Subject-Sequence`. */
export const isWrongLastSequence = (code: number | undefined): boolean => wrongLastSequence.has(code ?? 0);
