import { within } from './within.ts';

interface Bounds {
  /** How long the next bytes are awaited while they are read. */
  readonly silenceMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The bytes of a body as they come. Not every browser iterates over a stream. Leaving early ends the connection.
 * @throws the signal's reason; a `TimeoutError` when the connection is silent for too long.
 */
export async function* bytesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { silenceMs, signal }: Bounds,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const next = (): ReturnType<typeof reader.read> => reader.read();
  const bounds = { ms: silenceMs, signal };
  try {
    for (let read = await within(next, bounds); !read.done; read = await within(next, bounds)) yield read.value;
  } finally {
    // A connection that is silent may take as long to end as it likes.
    reader.cancel().catch(() => undefined);
  }
}

/** The same reply, whose body cannot be read when its connection is silent for too long. */
export function withBounds(response: Response, bounds: Bounds): Response {
  // A `fetch` that somebody brings may have other bodies, or none.
  if (!(response.body instanceof ReadableStream)) return response;
  const bytes = bytesOf(response.body, bounds);
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: async (controller) => {
        const next = await bytes.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async () => {
        await bytes.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}
