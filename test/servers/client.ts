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

export interface Client {
  readonly send: (method: string, path: string, body?: unknown) => Promise<Reply>;
  /** Chunks as they arrive; leaving the loop closes the connection. */
  readonly stream: (body: unknown) => AsyncGenerator<Chunk>;
}

/** Speaks to the service as a user's program would. */
export function createClient(url: string): Client {
  const post = (path: string, body: unknown, method = 'POST'): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  return {
    send: async (method, path, body) => {
      const response = await post(path, body, method);
      return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] };
    },
    stream: async function* (body) {
      const response = await post('/v1/graph/stream', body);
      if (!response.ok || !response.body) throw new Error(`stream answered ${String(response.status)}`);
      let text = '';
      for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
        text += bytes;
        const events = text.split('\n\n');
        text = events.pop() ?? '';
        yield* events.filter((event) => !event.startsWith(':')).map(toChunk);
      }
    },
  };
}

function toChunk(event: string): Chunk {
  const lines = new Map(
    event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { id: lines.get('id') ?? '', ...(JSON.parse(lines.get('data') ?? '') as Omit<Chunk, 'id'>) };
}

/** A message of the user. */
export const user = (content: string): Readonly<Record<string, string>> => ({ role: 'user', content });
