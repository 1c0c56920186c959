import { setTimeout as delay } from 'node:timers/promises';
import { agentsAre, testedAgent } from './standalone.ts';

/** One reply, its body read. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly data: never; readonly error: never; readonly metadata: Readonly<Record<string, string>> };
}

/** A stream chunk as it arrived, with the id of its event. */
export interface Chunk {
  readonly id: string;
  readonly event: string;
  readonly data: never;
  readonly message?: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Headers beside those that the body brings. */
export type Sent = Readonly<Record<string, string>>;

export interface Client {
  readonly send: (method: string, path: string, body?: unknown, headers?: Sent) => Promise<Reply>;
  /** Chunks as they arrive; leaving the loop closes the connection. */
  readonly stream: (body: unknown, headers?: Sent) => AsyncGenerator<Chunk>;
}

/** The requests that name an agent in their `config`. */
const namesAgent = /^\/v1\/(?:graph\/(?:invoke|stream|setup)|runs)$/;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the config of a request has beside what the test gives: the agent, in a run of a suite in which requests name it. */
export const addedConfig = agentsAre === 'named' ? { agent: testedAgent } : {};

function withAgent(body: unknown): unknown {
  if (agentsAre !== 'named' || !isObject(body)) return body;
  const { config = {} } = body;
  return isObject(config) ? { ...body, config: { ...addedConfig, ...config } } : body;
}

/** Speaks to the service as a user's program would. `always` goes with every request. */
export function createClient(url: string, always: Sent = {}): Client {
  const request = (method: string, path: string, given: unknown, headers: Sent = {}): Promise<Response> => {
    const body = method === 'POST' && namesAgent.test(path) ? withAgent(given) : given;
    return fetch(`${url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...always, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  };
  return {
    send: async (method, path, body, headers) => {
      const response = await request(method, path, body, headers);
      return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] };
    },
    stream: async function* (body, headers) {
      yield* readChunks(await request('POST', '/v1/graph/stream', body, headers));
    },
  };
}

const pauseMs = 50;
const away = new Set([408, 429, 502, 503, 504]);

/** Sends to a service that is killed and started again, at the address that it has then, until it answers. What is changed needs a key. */
export const sendingTo =
  (url: () => string): Client['send'] =>
  async (...request) => {
    for (;;) {
      const reply = await createClient(url())
        .send(...request)
        .catch(() => undefined);
      if (reply && !away.has(reply.status)) return reply;
      await delay(pauseMs);
    }
  };

/** The chunks of a reply that streams, as they arrive. */
export async function* readChunks(response: Response): AsyncGenerator<Chunk> {
  if (!response.ok || !response.body) throw new Error(`stream answered ${String(response.status)}`);
  let text = '';
  for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    yield* events.filter((event) => !event.startsWith(':')).map(toChunk);
  }
}

function toChunk(event: string): Chunk {
  const lines = new Map(
    event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { id: lines.get('id') ?? '', ...(JSON.parse(lines.get('data') ?? '') as Omit<Chunk, 'id'>) };
}

/** A message of the user. */
export const user = (content: string): Readonly<Record<string, string>> => ({ role: 'user', content });
