import { userError } from '../state/stated-error.ts';
import { cardUrl, readCard, version } from './card.ts';
import { isObject } from './object.ts';

/** How an agent is reached. */
export interface A2aServer {
  /** The address of the agent, or of its card. */
  readonly url: string;
  /** Sent with every request to the origin of `url`, for example a token: a card may name an address elsewhere. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The timeout of one request, in milliseconds: 30,000 unless given. */
  readonly timeoutMs?: number;
}

/** The agent could not be reached, or is busy: the same request may succeed later. */
export class Unreached extends Error {
  override readonly name = 'Unreached';
}

/** Calls an agent of A2A by JSON-RPC. */
export interface Caller {
  /** @throws Unreached; an error that its caller reads, where the agent refuses */
  readonly call: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
  /** What the agent is called by its card. */
  readonly agentName: (signal: AbortSignal) => Promise<string>;
}

/** The largest reply that is read, in bytes. */
const mostBytes = 16 * 1024 * 1024;

/** Makes what calls an agent. Its card is read with the first call, and again after one that failed. */
export function createCaller({ url, headers = {}, timeoutMs = 30_000 }: A2aServer): Caller {
  let known: ReturnType<typeof readCard> | undefined;
  let calls = 0;

  const send = async (to: string, signal: AbortSignal, body?: object): Promise<unknown> => {
    const own = new URL(to).origin === new URL(url).origin ? headers : {};
    try {
      const reply = await fetch(to, {
        method: body ? 'POST' : 'GET',
        headers: { ...(body && { 'content-type': 'application/json' }), 'a2a-version': version, ...own },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const text = await bounded(reply);
      if (reply.status === 429 || reply.status >= 500) throw new Unreached(`the status is ${String(reply.status)}`);
      if (!reply.ok) throw userError(`The agent refused the request with the status ${String(reply.status)}.`);
      return JSON.parse(text) as unknown;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TypeError || error instanceof SyntaxError || isTimeout(error))
        throw new Unreached('the agent cannot be reached', { cause: error });
      throw error;
    }
  };

  const address = async (signal: AbortSignal): Promise<ReturnType<typeof readCard>> =>
    (known ??= readCard(await send(cardUrl(url), signal)));

  return {
    call: async (method, params, signal) => {
      const to = await address(signal);
      const id = ++calls;
      const reply = await send(to.url, signal, { jsonrpc: '2.0', id, method, params });
      const { error, result } = isObject(reply) ? reply : {};
      if (!isObject(error)) return result;
      const message = typeof error['message'] === 'string' ? error['message'] : '';
      throw userError(`The agent refused the request: ${message.slice(0, 1000)}`);
    },
    agentName: async (signal) => (await address(signal)).name,
  };
}

const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError';

async function bounded(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = reply.body;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) throw new Error(`the reply of the agent has more than ${String(mostBytes)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
