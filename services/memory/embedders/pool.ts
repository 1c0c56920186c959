import { setTimeout as wait } from 'node:timers/promises';
import { fromUnknown, isServiceError, ServiceError, timeout, unavailable } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Embedder } from '../ports/port.ts';

export interface EmbedderPoolOptions {
  /** How many requests go to the embedder at once. */
  readonly maxUnderWay?: number;
  /** How many texts one request carries. */
  readonly maxTexts?: number;
  /** How many texts may wait for a request; more are refused. */
  readonly maxWaiting?: number;
  /** How often a request is sent that the embedder is too busy, or away, to answer. */
  readonly maxTries?: number;
  /** How long to wait before the second attempt, in milliseconds; each later one waits twice as long. */
  readonly firstPauseMs?: number;
}

/**
 * An embedder whose texts wait for one another: what many callers ask for at once goes in few requests, of which few are under way,
 * and which are sent again with growing pauses when the embedder is away. No caller waits longer than its own call allows.
 * @throws Unavailable when too many texts wait.
 */
export function createEmbedderPool(embedder: Embedder, options: EmbedderPoolOptions = {}): Embedder {
  const { maxUnderWay = 4, maxTexts = 128, maxWaiting = 10_000, maxTries = 3, firstPauseMs = 200 } = options;
  let waiting: Item[] = [];
  let underWay = 0;

  const send = async (items: readonly Item[]): Promise<void> => {
    const { call, release } = callOf(items);
    const texts = items.map(({ text }) => text);
    try {
      const vectors = await again({ maxTries, firstPauseMs, call }, () => embedder.embed(texts, call));
      for (const [place, item] of items.entries()) item.resolve(vectors[place]);
    } catch (error) {
      // One text that the embedder refuses must not be the others' failure.
      if (items.length > 1 && isOfOneText(error)) for (const item of items) await send([item]);
      else for (const item of items) item.reject(fromUnknown(error));
    } finally {
      release();
    }
  };

  const pump = (): void => {
    waiting = waiting.filter(({ call }) => !call.signal.aborted);
    while (underWay < maxUnderWay && waiting.length > 0) {
      underWay += 1;
      void send(waiting.splice(0, maxTexts)).finally(() => {
        underWay -= 1;
        pump();
      });
    }
  };

  const embedOne = async (text: string, call: Call): Promise<Float32Array> => {
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array | undefined>();
    waiting.push({ text, call, resolve, reject });
    // After this turn of the event loop, so that those who ask at once go together.
    setImmediate(pump);
    const vector = await untilOver(promise, call);
    if (!vector) throw new ServiceError('Internal', 'the embedder did not give one vector a text');
    return vector;
  };

  return {
    model: embedder.model,
    dimension: embedder.dimension,
    embed: async (texts, call) => {
      if (waiting.length + texts.length > maxWaiting) throw unavailable('too many texts wait to be embedded');
      return Promise.all(texts.map(async (text) => embedOne(text, call)));
    },
  };
}

const isOfOneText = (error: unknown): boolean => isServiceError(error, 'Internal') || isServiceError(error, 'Invalid');

interface Item {
  readonly text: string;
  readonly call: Call;
  readonly resolve: (vector: Float32Array | undefined) => void;
  readonly reject: (error: ServiceError) => void;
}

/** A request lives as long as the most patient of those it is for. */
function callOf(items: readonly Item[]): { readonly call: Call; readonly release: () => void } {
  const over = new AbortController();
  let left = items.length;
  const leave = (): void => {
    left -= 1;
    if (left === 0) over.abort();
  };
  for (const { call } of items) {
    if (call.signal.aborted) leave();
    else call.signal.addEventListener('abort', leave, { once: true });
  }
  const deadline = items.reduce((latest, { call }) => Math.max(latest, call.deadline), 0);
  const release = (): void => {
    for (const { call } of items) call.signal.removeEventListener('abort', leave);
  };
  return { call: { deadline, signal: over.signal }, release };
}

/** Gives up on a result when the call is over; the work may go on for others. */
async function untilOver<T>(work: Promise<T>, { deadline, signal }: Call): Promise<T> {
  const over = Promise.withResolvers<never>();
  const late = (): void => {
    over.reject(timeout('the embedder did not answer before the deadline'));
  };
  const leave = (): void => {
    if (Date.now() >= deadline) late();
    else over.reject(new ServiceError('Cancelled', 'the caller went away'));
  };
  const timer = setTimeout(late, Math.min(Math.max(0, deadline - Date.now()), 2 ** 31 - 1));
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}

interface Patience {
  readonly maxTries: number;
  readonly firstPauseMs: number;
  readonly call: Call;
}

async function again<T>({ maxTries, firstPauseMs, call }: Patience, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries >= maxTries || !isServiceError(error, 'Unavailable')) throw error;
      const { retryAfterMs = 0 } = error;
      const pauseMs = Math.max(
        firstPauseMs * 2 ** (tries - 1) * (1 + Math.random()),
        retryAfterMs > 1000 ? retryAfterMs : 0,
      );
      if (pauseMs > longestPauseMs || Date.now() + pauseMs >= call.deadline) throw error;
      await wait(pauseMs, undefined, { signal: call.signal }).catch(() => {
        throw error;
      });
    }
  }
}

/** Who is asked to come back later than this tells its own caller so. */
const longestPauseMs = 5000;
