import { randomUuid } from '@agent-workflow/kit/uuid';
import { withBounds } from './bytes.ts';
import {
  isEmpty,
  isPage,
  isRedirect,
  RequestError,
  toCut,
  toForeign,
  toRedirected,
  toRequestError,
  toUnreachable,
} from './errors.ts';
import { createRetries, headMs, type HeadTime, type Retries, type RetryBounds } from './retries.ts';
import { within } from './within.ts';

/** How requests reach the service. */
export interface Connection extends RetryBounds {
  /** The gateway's address, without a slash at its end. */
  readonly url: string;
  readonly fetch: typeof fetch;
  /** For how long a connection may bring nothing. */
  readonly silenceMs: number;
  /** Those of every request, asked for anew each time: a token may have been renewed. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
}

export interface RequestOptions {
  /** Ends the request; a run that was accepted goes on. */
  readonly signal?: AbortSignal | undefined;
  /** The same key makes the same work once, however often the request is sent. One is made unless given. */
  readonly idempotencyKey?: string | undefined;
}

interface Sent extends RequestOptions {
  readonly method: string;
  /** `/v1/threads/{threadId}`: what stands in braces is the name of one of the `ids`. */
  readonly path: string;
  /** Those in the path, and those that stand in the body and are checked alike. Callers without types may give what is no text. */
  readonly ids?: Readonly<Record<string, string | undefined>> | undefined;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  /** In place of a body. It can be sent again: it holds its files, or knows where they are. */
  readonly form?: FormData | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** At once unless given. */
  readonly head?: HeadTime;
}

/**
 * Sends a request until its reply is `read`. One that the service could not take (no reply, a reply that is cut, 429, 502, 503,
 * 504) is sent again after a pause, with the same idempotency key, so that its work is done once. Work of several requests hands
 * each the same `retries`.
 * @throws RequestError for a refusal, when no attempt is left, and when the service asks for a pause of more than a minute; the
 * signal's reason; before anything is sent TypeError for an id that is no text and for a header that cannot be sent, RangeError for an
 * id that a path cannot hold.
 */
export async function send<T>(
  connection: Connection,
  sent: Sent,
  read: (response: Response) => Promise<T> | T,
  retries: Retries = createRetries(connection, { signal: sent.signal }),
): Promise<T> {
  const path = toPath(sent);
  refuseUnfitKey(sent.idempotencyKey);
  const key = sent.method === 'GET' || sent.form ? undefined : (sent.idempotencyKey ?? randomUuid());
  for (;;) {
    try {
      return await read(await sendAttempt(connection, { ...sent, path }, key));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      await retries.after(error);
    }
  }
}

/** An address drops such a part, or the one before it, and is then that of something else: of a list in place of one thread. */
const dropped: ReadonlySet<string> = new Set(['', '.', '..']);

function toPath({ path, ids = {} }: Pick<Sent, 'path' | 'ids'>): string {
  const parts = new Map(Object.entries(ids).map(([name, id]) => [name, toPart(name, id)]));
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts.get(name) ?? toPart(name, undefined));
}

function toPart(name: string, id: string | undefined): string {
  if (typeof id !== 'string') throw new TypeError(`${name} must be a text, and is of the type ${typeof id}`);
  if (dropped.has(id)) throw new RangeError(`${name} must not be empty, "." or "..", and is "${id}"`);
  return encodeURIComponent(id);
}

/**
 * The `data` of a reply. `isFit` says whether they are what the caller reads of them; other data are no reply of the service. All are fit
 * unless it is given.
 */
export const request = <T>(connection: Connection, sent: Sent, isFit?: (data: Partial<T>) => boolean): Promise<T> =>
  send(connection, sent, async (response) => {
    const body = await readJson(response, { ...sent, connection });
    if (!hasData(body)) throw toForeign(response);
    if (isFit && !isFit(Object(body.data) as Partial<T>)) throw toForeign(response, 'its `data` have another shape');
    return body.data as T;
  });

const hasData = (body: unknown): body is { readonly data: unknown } =>
  typeof body === 'object' && body !== null && 'data' in body;

interface Reading extends Pick<Sent, 'signal'> {
  readonly connection: Pick<Connection, 'silenceMs'>;
}

/** The bytes of a file, however long they take, as long as some come. */
export async function readFile(response: Response, { connection: { silenceMs }, signal }: Reading): Promise<Blob> {
  try {
    return await withBounds(response, { silenceMs, signal }).blob();
  } catch (error) {
    signal?.throwIfAborted();
    throw toCut('its file cannot be read to the end', error);
  }
}

/** The JSON of a reply. `fetch` itself reads it, and is done with the connection when it is read. */
async function readJson(response: Response, { connection: { silenceMs }, signal }: Reading): Promise<unknown> {
  try {
    const ms = silenceMs + transferMs(Number(response.headers.get('content-length')));
    return await within(() => response.json(), { ms, signal });
  } catch (error) {
    signal?.throwIfAborted();
    endOf.get(response)?.();
    if (response.ok && error instanceof SyntaxError && isPage(response)) throw toForeign(response, 'it is a page');
    // The message of the parser would quote the reply.
    throw error instanceof SyntaxError
      ? toCut('its reply is no JSON, or is cut')
      : toCut('its reply cannot be read to the end', error);
  }
}

/** What ends the connections of replies that are not read to their end. */
const endOf = new WeakMap<Response, () => void>();

async function sendAttempt(connection: Connection, sent: Sent, key: string | undefined): Promise<Response> {
  const { method, path, query = {}, body, form, headers, head = 'at once', signal } = sent;
  const address = new URL(connection.url + path);
  for (const [name, value] of Object.entries(query) as [string, unknown][])
    if (value !== undefined) address.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  const given = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(await within(connection.headers, { signal })),
    ...headers,
  };
  refuseUnfitHeaders(given);
  const content = body === undefined ? (form ?? null) : JSON.stringify(body);
  const silent = new AbortController();
  const init: RequestInit = {
    method,
    headers: given,
    body: content,
    redirect: 'manual',
    signal: anyOf(signal, silent.signal),
  };
  // Nothing says when the last byte has been sent. Forms are sent by requests without a bound.
  const ms = headMs(connection, head) + transferMs(typeof content === 'string' ? content.length : 0);
  const response = await within(() => connection.fetch(address, init), { ms, signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    silent.abort();
    throw toUnreachable(error);
  });
  endOf.set(response, () => silent.abort());
  if (isEmpty(response)) throw toForeign(response, 'it has no content');
  if (response.ok) return response;
  if (isRedirect(response)) {
    silent.abort();
    throw toRedirected(response);
  }
  throw await toRequestError(response, () => readJson(response, { connection, signal })).finally(() =>
    signal?.throwIfAborted(),
  );
}

/**
 * How long so many bytes may be on their way, in milliseconds: one for each, two minutes at most. The service waits as long for a body, which must
 * come at a KiB a second at least.
 */
const transferMs = (bytes: number): number => (bytes > 0 ? Math.min(120_000, bytes) : 0);

const anyOf = (signal: AbortSignal | undefined, other: AbortSignal): AbortSignal =>
  signal ? AbortSignal.any([signal, other]) : other;

/** The headers whose values callers give in another place. */
const parts: Readonly<Record<string, string>> = { authorization: 'token', 'last-event-id': 'after' };

/** What RFC 9110 lets a value hold, and ends of lines, which `fetch` cuts from both sides. */
const fit = /^[\t\n\r\x20-\x7e\x80-\xff]*$/;
const fitValue = (value: string): boolean => fit.test(value) && !/[\n\r]/.test(value.trim());
const fitName = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The headers that belong to the connection. `fetch` sets them itself, and refuses others or drops them. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * `fetch` takes such headers for a failure of the connection, and puts them into its message.
 * @throws TypeError that names the part of the request, and not its value.
 */
function refuseUnfitHeaders(headers: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!fitName.test(name)) throw new TypeError('headers must have names that a header of HTTP can have');
    if (ofConnection.has(name.toLowerCase()))
      throw new TypeError(`headers must not have "${name}": \`fetch\` sets it itself`);
    if (!fitValue(String(value)))
      throw new TypeError(
        `${parts[name.toLowerCase()] ?? `the header "${name}"`} must hold only characters that a header of HTTP can hold`,
      );
  }
}

/**
 * What the service takes as `Idempotency-Key`.
 * @throws TypeError for another.
 */
function refuseUnfitKey(key: unknown): void {
  if (key === undefined || key === null || (typeof key === 'string' && /^[!-~]{1,255}$/.test(key))) return;
  throw new TypeError('idempotencyKey must be a text of 1 to 255 visible ASCII characters');
}
