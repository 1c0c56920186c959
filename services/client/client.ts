import { adminOf } from './admin.ts';
import { agentsOf } from './agents.ts';
import { assistantsOf } from './assistants.ts';
import { filesOf } from './files.ts';
import { graphOf } from './graph.ts';
import { memoriesOf } from './memories.ts';
import { questionsOf } from './questions.ts';
import { runsOf } from './runs.ts';
import { schedulesOf } from './schedules.ts';
import { sharesOf } from './shares.ts';
import { threadsOf } from './threads.ts';
import { triggersOf } from './triggers.ts';
import { deliveriesOf, webhooksOf } from './webhooks.ts';
import type { Connection } from './request.ts';

export interface ClientOptions {
  /** The gateway's address: `https://agents.example.com`. */
  readonly url: string;
  /** Sent as a bearer token; a function is asked before each request. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the global one. */
  readonly fetch?: typeof fetch;
  /** How often a request is made at most that the service could not take, the first time included. Given alone, it is the only bound; without it there is a time alone, and 5 times at least. */
  readonly maxAttempts?: number;
  /** For how long after its first failure a request that did not reach the service, or a stream that was cut, is tried again, in milliseconds: 15,000 unless given. */
  readonly retryMs?: number;
  /** For how long a connection may bring nothing, in milliseconds: 60,000 unless given. It is then lost. A stream without events has comments. */
  readonly silenceMs?: number;
}

/**
 * Speaks `/v1`. Every method throws a `RequestError` when the service refuses or cannot be reached, and, before anything is sent, a
 * `TypeError` for an id that is no text and a `RangeError` for one that is empty, `.` or `..`.
 */
export type Client = ReturnType<typeof createClient>;

/**
 * Makes a client. Nothing is sent until it is used.
 * @throws TypeError for a `url` that is no whole address, or none, or has a user or a password; RangeError for a `retryMs` or a
 * `silenceMs` that is no time, and for a `maxAttempts` below 1.
 */
export function createClient(clientOptions: ClientOptions) {
  // A caller without types may leave out the options, and so the address.
  const { url, token, headers = {}, ...options } = Object(clientOptions) as ClientOptions;
  refuseUnfitUrl(url);
  const { maxAttempts, retryMs, silenceMs = defaultSilenceMs } = options;
  if (maxAttempts !== undefined && !(typeof maxAttempts === 'number' && maxAttempts >= 1))
    throw new RangeError(`maxAttempts must be a number from 1 on, and is ${String(maxAttempts)}`);
  if (retryMs !== undefined && !(typeof retryMs === 'number' && retryMs >= 0))
    throw new RangeError(`retryMs must be a number of milliseconds from 0 on, and is ${String(retryMs)}`);
  if (!(typeof silenceMs === 'number' && silenceMs > 0))
    throw new RangeError(`silenceMs must be a number of milliseconds above 0, and is ${String(silenceMs)}`);
  const connection: Connection = {
    url: url.endsWith('/') ? url.slice(0, -1) : url,
    fetch: options.fetch ?? ((...given) => fetch(...given)),
    ...{ maxAttempts, retryMs, silenceMs },
    headers: async () => {
      const shown = typeof token === 'function' ? await token() : token;
      return { ...headers, ...(shown !== undefined && { authorization: `Bearer ${shown}` }) };
    },
  };
  return {
    ...graphOf(connection),
    admin: adminOf(connection),
    agents: agentsOf(connection),
    assistants: assistantsOf(connection),
    questions: questionsOf(connection),
    runs: runsOf(connection),
    schedules: schedulesOf(connection),
    shares: sharesOf(connection),
    threads: threadsOf(connection),
    triggers: triggersOf(connection),
    webhooks: webhooksOf(connection),
    deliveries: deliveriesOf(connection),
    memories: memoriesOf(connection),
    files: filesOf(connection),
  };
}

/** Four times the pause after which the service sends a comment. */
const defaultSilenceMs = 60_000;

const noUrl = { protocol: '', username: '', password: '', search: '', hash: '' };

/** The value is not shown: it may hold a password. */
function refuseUnfitUrl(url: unknown): void {
  const address = typeof url === 'string' ? url : '';
  const { protocol, username, password, search, hash } = URL.canParse(address) ? new URL(address) : noUrl;
  if (!/^https?:$/.test(protocol) || address.trim() !== address || search !== '' || hash !== '')
    throw new TypeError('url must be the address of a gateway, as https://agents.example.com, without a query');
  if (username !== '' || password !== '')
    throw new TypeError('url must have no user and no password: give a token, or headers');
}
