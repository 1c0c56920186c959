import { backoffMs, pause, serverAway } from '@agent-workflow/kit/retry';

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface ResumingOptions {
  /** In place of the global one. */
  readonly fetch?: Fetch;
  /** Where a stream goes on; the URL of the request with `/connect` behind it, unless given. */
  readonly connectUrl?: string;
  /** For how long a connection is tried again that brings nothing, in milliseconds: a minute unless given. */
  readonly retryMs?: number;
  /** A connection that has brought nothing for so long is made again, in milliseconds: a minute unless given. The service sends a comment every 15 seconds. */
  readonly silenceMs?: number;
}

/** The types of the events with which a run of AG-UI ends. */
const lastTypes = ['RUN_FINISHED', 'RUN_ERROR'];

/**
 * A `fetch` for AG-UI's `HttpAgent`: `new HttpAgent({ url, fetch: resumingFetch() })`. A stream that is cut goes on behind its last event, by
 * whatever replica answers, so that the agent sees one stream: no event is missing, and none comes twice. The stream fails where nothing can be had for
 * `retryMs`, where going on is refused, and where it was cut before its first event: a request to `connectUrl` starts nothing, and is sent again then.
 */
export function resumingFetch({
  fetch: send = fetch,
  connectUrl,
  retryMs = 60_000,
  silenceMs = 60_000,
}: ResumingOptions = {}): Fetch {
  return async (url, init) => {
    const isConnect = url === connectUrl;
    const threadId = threadIn(init.body);
    const first = await send(url, init).catch((error: unknown) => {
      if (!isConnect || threadId === undefined || init.signal?.aborted === true) throw error;
      return undefined;
    });
    if (first && (threadId === undefined || !isStream(first))) return first;
    const again = async (after: string | undefined): Promise<Response> => {
      const given = new Headers(init.headers);
      if (after !== undefined) given.set('Last-Event-ID', after);
      return send(connectUrl ?? `${url}/connect`, { ...init, headers: given, body: JSON.stringify({ threadId }) });
    };
    const following = { again, retryMs, silenceMs, mayBegin: isConnect, signal: init.signal ?? undefined };
    const events = follow(first?.body ?? undefined, following);
    const { status = 200, headers = eventStream } = first ?? {};
    return new Response(toStream(events), { status, headers });
  };
}

const eventStream = { 'content-type': 'text/event-stream' };

const isStream = ({ ok, body, headers }: Response): boolean =>
  ok && body !== null && headers.get('content-type')?.includes('text/event-stream') === true;

const toStream = (events: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await events.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => {
      await events.return(undefined);
    },
  });

function threadIn(body: RequestInit['body']): string | undefined {
  if (typeof body !== 'string') return undefined;
  const { threadId } = JSON.parse(body) as { readonly threadId?: unknown };
  return typeof threadId === 'string' ? threadId : undefined;
}

interface Following {
  /** Without an id from the first event. */
  readonly again: (after: string | undefined) => Promise<Response>;
  /** Whether it is made again also where no event has come. */
  readonly mayBegin: boolean;
  readonly retryMs: number;
  readonly silenceMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The events of a stream, each whole, to the last of its run. @throws what cut it, when it cannot go on */
async function* follow(
  first: ReadableStream<Uint8Array> | undefined,
  { again, mayBegin, retryMs, silenceMs, signal }: Following,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  let body = first;
  let after: string | undefined;
  let cutAt: number | undefined;
  for (let attempt = 1; ; attempt++) {
    let cut: unknown = new Error('the stream ended before its run did');
    try {
      body ??= await reopened(again, after);
      for await (const { text, id } of wholeEvents(body, silenceMs)) {
        yield encoder.encode(text);
        after = id ?? after;
        cutAt = undefined;
        attempt = 1;
        if (isLast(text)) return;
      }
    } catch (error) {
      cut = error;
    }
    body = undefined;
    cutAt ??= Date.now();
    const isOver = (after === undefined && !mayBegin) || signal?.aborted === true || Date.now() - cutAt > retryMs;
    if (isOver || cut instanceof Refused) throw cut;
    await pause(backoffMs(serverAway, attempt), signal);
  }
}

/** The service has answered, and does not go on. */
class Refused extends Error {}

async function reopened(again: Following['again'], after: string | undefined): Promise<ReadableStream<Uint8Array>> {
  const reply = await again(after);
  if (reply.ok && reply.body) return reply.body;
  const text = `the stream was not resumed: ${String(reply.status)} ${(await reply.text()).slice(0, 1000)}`;
  throw reply.status >= 400 && reply.status < 500 && reply.status !== 429 ? new Refused(text) : new Error(text);
}

/** The events of a body, as they came, and their ids. What follows the last whole one is left out. */
async function* wholeEvents(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
): AsyncGenerator<{ readonly text: string; readonly id: string | undefined }> {
  let rest = '';
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (let read = await next(reader, silenceMs); !read.done; read = await next(reader, silenceMs)) {
      rest += decoder.decode(read.value, { stream: true });
      const parts = rest.split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts)
        yield { text: `${part}\n\n`, id: part.startsWith('id: ') ? part.slice(4, part.indexOf('\n')) : undefined };
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** @throws Error where nothing has come for so long */
async function next(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): Promise<Awaited<ReturnType<typeof reader.read>>> {
  const silence = new AbortController();
  try {
    return await Promise.race([
      reader.read(),
      pause(silenceMs, silence.signal).then(() => {
        throw new Error(`the stream was silent for ${String(silenceMs)} ms`);
      }),
    ]);
  } finally {
    silence.abort();
  }
}

/** The service writes the type first in the data of an event. */
const isLast = (text: string): boolean => lastTypes.some((type) => text.includes(`\ndata: {"type":"${type}"`));
