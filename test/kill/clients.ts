import { setTimeout as delay } from 'node:timers/promises';
import { byLoad } from '../by-load.ts';
import { createClient, type Client, type Reply } from '../servers/client.ts';

/** How a user's program speaks to a service of several gateways that come and go. */
export interface SturdyClient extends Client {
  /** Follows a run to its last event, and resumes at another gateway whenever the stream is cut. */
  readonly follow: (runId: string) => Promise<Followed>;
  /** What came, but late, each in a sentence: slow is not broken. */
  readonly late: readonly string[];
}

export interface Followed {
  /** The events as they came, each with its two line ends: what one uncut stream would have been. */
  readonly text: string;
  /** How often it was cut. */
  readonly cuts: number;
}

/** In milliseconds of a machine with nothing else to do. */
interface Bounds {
  /** What takes longer is late. */
  readonly lateMs: number;
  /** What has not come by then is lost: nobody waits for ever. */
  readonly lostMs: number;
}

const usualBounds: Bounds = { lateMs: 90_000, lostMs: 450_000 };
const pauseMs = 50;
/** Of a gateway whose services are unavailable, or that was too busy to read the request in time: it may be repeated. */
const away = new Set([408, 502, 503, 504]);

/**
 * Speaks to the gateways in turn. A connection that is refused or reset is tried at the next one; with `insists`, so is what is
 * answered with 503, as a program does that has time. What must not be done twice needs a key.
 */
export function createSturdyClient(
  urls: readonly string[],
  insists: boolean,
  { lateMs, lostMs }: Bounds = usualBounds,
): SturdyClient {
  let turn = 0;
  const nextUrl = (): string => urls[turn++ % urls.length] as string;
  const clients = urls.map((url) => createClient(url));
  const late: string[] = [];
  const isLost = (begun: number): boolean => performance.now() - begun > byLoad(lostMs);
  const noteIfLate = (what: string, begun: number): void => {
    const ms = performance.now() - begun;
    if (ms > byLoad(lateMs)) late.push(`${what} took ${Math.round(ms / 1000)} s`);
  };
  const send: Client['send'] = async (...request) => {
    const begun = performance.now();
    for (;;) {
      const reply = await (clients[turn++ % clients.length] as Client)
        .send(...request)
        .catch(passUnless(() => isLost(begun)));
      if (reply && !(insists && away.has(reply.status) && !isLost(begun))) {
        noteIfLate(`${request[0]} ${request[1]}`, begun);
        return reply;
      }
      await delay(pauseMs);
    }
  };
  return {
    late,
    send,
    stream: () => {
      throw new Error('a stream that may be cut is followed by its run');
    },
    follow: async (runId) => {
      const begun = performance.now();
      const followed = await followFrom(runId, { nextUrl, lateMs, isLost: () => isLost(begun) });
      noteIfLate(`following run ${runId}`, begun);
      return followed;
    },
  };
}

/** Lets a broken connection pass until it is lost; a reply that is no JSON broke off in the middle. */
const passUnless =
  (isLost: () => boolean) =>
  (error: unknown): Reply | undefined => {
    if (isLost()) throw error;
    return undefined;
  };

interface Following {
  readonly nextUrl: () => string;
  readonly lateMs: number;
  readonly isLost: () => boolean;
}

async function followFrom(runId: string, { nextUrl, lateMs, isLost }: Following): Promise<Followed> {
  let text = '';
  let last = '';
  for (let cuts = 0; ; cuts++) {
    for await (const event of eventsAfter(`${nextUrl()}/v1/runs/${runId}/stream`, last, lateMs)) {
      text += `${event}\n\n`;
      last = /^id: (.*)$/m.exec(event)?.[1] ?? last;
      if (/^event: (on_chain_end|error)$/m.test(event)) return { text, cuts };
    }
    if (isLost()) throw new Error(`run ${runId} could not be followed to its end after "${last}", with ${cuts} cuts`);
    await delay(pauseMs);
  }
}

/** Whole events until the stream ends, is cut, or could not be had. */
async function* eventsAfter(address: string, last: string, lateMs: number): AsyncGenerator<string> {
  try {
    const signal = AbortSignal.timeout(byLoad(lateMs));
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

/** What `fetch` says of a connection that is refused, reset or ends in the middle, and of a stream that is left because it takes long: it is resumed. */
const isBroken = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');
