import { isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { WeaviateConnection } from './weaviate.ts';

/** The result in place of an error that is no failure; `undefined` when the error is one. */
type Fallback<T> = (error: unknown) => { readonly result: T } | undefined;

export const onMessage =
  <T>(pattern: RegExp, result: T): Fallback<T> =>
  (error) =>
    pattern.test(messageOf(error)) ? { result } : undefined;
export const onAbsentTenant = <T>(result: T): Fallback<T> => onMessage(/tenant not found/, result);
export const onStatus =
  <T>(status: number, result: T): Fallback<T> =>
  (error) =>
    statusOf(error) === status ? { result } : undefined;
export const orElse =
  <T>(first: Fallback<T>, second: Fallback<T>): Fallback<T> =>
  (error) =>
    first(error) ?? second(error);

/** Runs one request. @throws Unavailable, or StorageFailed when Weaviate refuses the request. */
export type Send = <T, U = T>(work: () => Promise<T>, fallback?: Fallback<U>) => Promise<T | U>;

export interface SendOptions extends Pick<WeaviateConnection, 'requestTimeoutMs'> {
  /** Is called with each request that Weaviate did not answer, or answered with a failure of its own. */
  readonly onFailure?: (error: ServiceError) => void;
}

/** How many requests run at once. A request that timed out counts until it ends. */
const maxRequests = 512;

export function createSend({ requestTimeoutMs, onFailure }: SendOptions): Send {
  let running = 0;
  return async (work, fallback) => {
    if (running >= maxRequests) throw unavailable('the store of memories has too much to do');
    running += 1;
    const working = work().finally(() => {
      running -= 1;
    });
    try {
      return await inTime(working, requestTimeoutMs);
    } catch (error) {
      const replaced = fallback?.(error);
      if (replaced) return replaced.result;
      const failure = toFailure(error);
      if (failure.code === 'Unavailable') onFailure?.(failure);
      throw failure;
    }
  };
}

/** Sends reads up to three times: a tenant that is being activated or deactivated refuses for a moment. */
export const createRead =
  (send: Send): Send =>
  async (work, fallback) =>
    retry(() => send(work, fallback), {
      ...{ maxAttempts: 3, firstMs: 100, maxMs: 100 },
      mayHelp: (error) => isServiceError(error, 'Unavailable') && !(error.cause instanceof Late),
    });

/** No answer came within the timeout. */
class Late extends Error {}

/** The library cannot cancel a request: a request that times out continues. */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(unavailable(away, new Late(`no answer within ${String(ms)} ms`)));
  }, ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export const away = 'the store of memories is unavailable for now';

export const storageFailed = (cause: unknown): ServiceError =>
  new ServiceError('StorageFailed', 'the store of memories failed', { cause });

/** Messages that only a fault of this code or of the configuration can cause; another attempt does not help. */
const misuse = /Syntax Error|Cannot query field|Unknown argument|invalid (where|filter)|wrong size/i;

/** Translates the errors of the library. */
function toFailure(error: unknown): ServiceError {
  if (isServiceError(error)) return error;
  const status = statusOf(error);
  const isRefusal = status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
  return isRefusal || misuse.test(messageOf(error)) ? storageFailed(error) : unavailable(away, error);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function statusOf(error: unknown): number | undefined {
  const inMessage = /^usage error \((\d{3})\)/.exec(messageOf(error))?.[1];
  if (inMessage !== undefined) return Number(inMessage);
  const status: unknown = (error as { response?: { status?: unknown } } | undefined)?.response?.status;
  return typeof status === 'number' && status !== 200 ? status : undefined;
}
