import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client, type Reply } from '../servers/client.ts';

/** How a user's program speaks to a service of several gateways that come and go. */
export interface SturdyClient extends Client {
  /** Follows a run to its last event, and resumes at another gateway whenever the stream is cut. */
  readonly follow: (runId: string) => Promise<Followed>;
}

export interface Followed {
  /** The events as they came, each with its two line ends: what one uncut stream would have been. */
  readonly text: string;
  /** How often it was cut. */
  readonly cuts: number;
}

/** How long a request is tried before it counts as failed, in milliseconds. */
const timeoutMs = 90_000;
const pauseMs = 50;
/** Of a gateway whose services are unavailable, or that was too busy to read the request in time: it may be repeated. */
const away = new Set([408, 502, 503, 504]);

/**
 * Speaks to the gateways in turn. A connection that is refused or reset is tried at the next one; with `insists`, so is what is
 * answered with 503, as a program does that has time. What must not be done twice needs a key.
 */
export function createSturdyClient(urls: readonly string[], insists: boolean): SturdyClient {
  let turn = 0;
  const nextUrl = (): string => urls[turn++ % urls.length] as string;
  const clients = urls.map((url) => createClient(url));
  const send: Client['send'] = async (...request) => {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const reply = await (clients[turn++ % clients.length] as Client).send(...request).catch(onBroken(until));
      if (reply && !(insists && away.has(reply.status) && performance.now() < until)) return reply;
      await delay(pauseMs);
    }
  };
  return {
    send,
    stream: () => {
      throw new Error('a stream that may be cut is followed by its run');
    },
    follow: async (runId) => followFrom(nextUrl, runId),
  };
}

/** Lets a broken connection pass until the patience is over; a reply that is no JSON broke off in the middle. */
const onBroken =
  (until: number) =>
  (error: unknown): Reply | undefined => {
    if (performance.now() > until) throw error;
    return undefined;
  };

async function followFrom(nextUrl: () => string, runId: string): Promise<Followed> {
  let text = '';
  let last = '';
  for (let cuts = 0; ; cuts++) {
    const until = performance.now() + timeoutMs;
    for await (const event of eventsAfter(`${nextUrl()}/v1/runs/${runId}/stream`, last)) {
      text += `${event}\n\n`;
      last = /^id: (.*)$/m.exec(event)?.[1] ?? last;
      if (/^event: (on_chain_end|error)$/m.test(event)) return { text, cuts };
      if (performance.now() > until) throw new Error(`run ${runId} does not end`);
    }
    if (cuts > timeoutMs / pauseMs) throw new Error(`run ${runId} could not be followed after "${last}"`);
    await delay(pauseMs);
  }
}

/** Whole events until the stream ends, is cut, or could not be had. */
async function* eventsAfter(address: string, last: string): AsyncGenerator<string> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(address, { headers: last === '' ? {} : { 'last-event-id': last }, signal });
    if (!response.ok || !response.body) {
      await response.arrayBuffer();
      if (away.has(response.status)) return;
      throw new Error(`${address} answered ${response.status} after "${last}"`);
    }
    let rest = '';
    for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + bytes).split('\n\n');
      rest = events.pop() ?? '';
      yield* events.filter((event) => !event.startsWith(':'));
    }
  } catch (error) {
    if (!isBroken(error)) throw error;
  }
}

/** What `fetch` says of a connection that is refused, reset or ends in the middle. */
const isBroken = (error: unknown): boolean => error instanceof TypeError;
