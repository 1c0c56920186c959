import { fromUnknown, isServiceError, ServiceError, unanswered, unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { Call } from '@agent-workflow/protos/call';
import type { Embedder } from '../ports/embedder.ts';
import { isPerhapsOneText, unembedded } from './embedding.ts';

interface EmbedderPoolOptions {
  /** How many requests go to the embedder at once. */
  readonly maxUnderWay?: number;
  /** How many texts one request holds. */
  readonly maxTexts?: number;
  /** How many texts may wait for a request; more are refused. */
  readonly maxWaiting?: number;
  /** How often a request is sent while the embedder is busy or unavailable. */
  readonly maxAttempts?: number;
  /** The longest wait before the second attempt, in milliseconds; each later wait is twice as long. */
  readonly firstWaitMs?: number;
}

/** A longer wait that the embedder asks for is not waited for: the caller gets the error with that wait. */
const maxWaitMs = 5000;

/**
 * Puts the texts of many callers into few requests, sends few requests at once, and sends them again with growing waits while the
 * embedder is unavailable. No caller waits longer than its own call allows.
 * @throws Unavailable when too many texts wait.
 */
export function createEmbedderPool(embedder: Embedder, options: EmbedderPoolOptions = {}): Embedder {
  const { maxUnderWay = 4, maxTexts = 128, maxWaiting = 10_000, maxAttempts = 3, firstWaitMs = 400 } = options;
  let waiting: Item[] = [];
  let underWay = 0;

  /** Sends texts. When one of them may be why that fails, they are sent in halves, until it is alone. */
  const send = async (items: readonly Item[], split: Split): Promise<void> => {
    const { call, release } = callOf(items);
    const texts = items.map(({ text }) => text);
    const attempts = split.isHalf && items.length > 1 ? 1 : maxAttempts;
    try {
      const vectors = await retry(() => embedder.embed(texts, call), {
        ...{ maxAttempts: attempts, firstMs: firstWaitMs, maxMs: maxWaitMs },
        ...{ deadline: call.deadline, signal: call.signal },
        mayHelp: (error) => isServiceError(error, 'Unavailable'),
        leastMs: askedWaitMs,
      });
      for (const [index, item] of items.entries()) item.resolve(vectors[index]);
      split.isAnyTaken = true;
    } catch (error) {
      if (items.length > 1 && isPerhapsOneText(error) && mayGoOn(split)) {
        const half = Math.ceil(items.length / 2);
        split.isHalf = true;
        for (const part of [items.slice(0, half), items.slice(half)]) {
          split.left -= 1;
          await send(part, split);
        }
      } else split.failed.push(...items.map((item) => ({ item, error, isAlone: items.length === 1 })));
    } finally {
      release();
    }
  };

  const sendAll = async (items: readonly Item[]): Promise<void> => {
    const split: Split = { isHalf: false, isAnyTaken: false, left: 4 * Math.ceil(Math.log2(items.length)), failed: [] };
    await send(items, split);
    for (const { item, error, isAlone } of split.failed) {
      const isRefused = isAlone && split.isAnyTaken && isPerhapsOneText(error) && !isServiceError(error, 'Invalid');
      item.reject(isRefused ? unembedded('the embedder cannot take this text') : fromUnknown(error));
    }
  };

  const pump = (): void => {
    waiting = waiting.filter(({ call }) => !call.signal.aborted);
    while (underWay < maxUnderWay && waiting.length > 0) {
      underWay += 1;
      void sendAll(waiting.splice(0, maxTexts)).finally(() => {
        underWay -= 1;
        pump();
      });
    }
  };

  const embedOne = async (text: string, call: Call): Promise<Float32Array> => {
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array | undefined>();
    waiting.push({ text, call, resolve, reject });
    // After this turn of the event loop, so that the texts of one turn go in one request.
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

/** The wait that a busy embedder asks for. A second or less is its default, and the backoff decides. */
const askedWaitMs = (error: unknown): number => {
  const { retryAfterMs = 0 } = isServiceError(error) ? error : {};
  return retryAfterMs > 1000 ? retryAfterMs : 0;
};

/** Texts that are sent in smaller requests, because one of them may be why the first one failed. */
interface Split {
  isHalf: boolean;
  /** Whether the embedder took any of the texts. */
  isAnyTaken: boolean;
  /** How many more requests may be sent: enough to find two texts among all. */
  left: number;
  readonly failed: { readonly item: Item; readonly error: unknown; readonly isAlone: boolean }[];
}

/** So many texts that fail alone, while none is taken, are the failure of the embedder. */
const aloneAtMost = 3;

const mayGoOn = ({ left, isAnyTaken, failed }: Split): boolean =>
  left > 0 && (isAnyTaken || failed.filter(({ isAlone }) => isAlone).length < aloneAtMost);

interface Item {
  readonly text: string;
  readonly call: Call;
  readonly resolve: (vector: Float32Array | undefined) => void;
  readonly reject: (error: ServiceError) => void;
}

/** The call of a request: it ends when the calls of all its texts have ended. */
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

/** Rejects when the call ends before the result is there. The work may go on for other callers. */
async function untilOver<T>(work: Promise<T>, { deadline, signal }: Call): Promise<T> {
  const over = Promise.withResolvers<never>();
  const late = (): void => {
    over.reject(unanswered('the embedder did not answer before the deadline'));
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
