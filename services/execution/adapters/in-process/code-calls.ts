import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import { failedCall, lateWorker, lostWorker, noWorker, refuseLargeCall } from '../code-call-errors.ts';
import type { CodeCalls, Reduce, ReducedFields, ReduceRequest } from '../../ports/code-calls.ts';
import { poolOf, poolsOf } from './queue.ts';

interface Service {
  readonly pools: readonly string[];
  readonly reduce: Reduce;
  readonly closed: AbortSignal;
  readonly underWay: Set<Promise<unknown>>;
}

/** Calls between the parts of one process. */
export function openInProcessCodeCalls(): CodeCalls {
  const services = new Set<Service>();
  return {
    reduce: async (request, call) => {
      refuseLargeCall(bytesOf(request.current) + Buffer.byteLength(JSON.stringify(request.given)));
      const pool = poolOf(request);
      const service = [...services].find(({ pools }) => pools.includes(pool));
      if (!service) throw noWorker(request);
      const work = callOne(service, request, call);
      service.underWay.add(work);
      return work.finally(() => service.underWay.delete(work));
    },

    serve: (held, reduce) => {
      const closing = new AbortController();
      const service: Service = { pools: poolsOf(held), reduce, closed: closing.signal, underWay: new Set() };
      services.add(service);
      return Promise.resolve({
        leave: async () => {
          services.delete(service);
          await Promise.allSettled(service.underWay);
        },
        [Symbol.asyncDispose]: () => {
          services.delete(service);
          closing.abort();
          return Promise.resolve();
        },
      });
    },

    [Symbol.asyncDispose]: () => {
      services.clear();
      return Promise.resolve();
    },
  };
}

async function callOne(
  { reduce, closed }: Service,
  request: ReduceRequest,
  { signal, deadline }: Call,
): Promise<ReducedFields> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(lateWorker(request)), Math.max(0, deadline - Date.now()));
  const ended = AbortSignal.any([ending.signal, signal, closed]);
  const end = Promise.withResolvers<never>();
  ended.addEventListener('abort', () => end.reject(closed.aborted ? lostWorker(request) : ended.reason), {
    once: true,
  });
  try {
    signal.throwIfAborted();
    const fields = await Promise.race([reduce(request, ended), end.promise]);
    refuseLargeCall(bytesOf(fields));
    return fields;
  } catch (error) {
    if (isServiceError(error) || ended.aborted) throw error;
    throw failedCall(error);
  } finally {
    clearTimeout(timer);
    ending.abort(lateWorker(request));
  }
}

const bytesOf = (fields: ReducedFields): number =>
  Object.values(fields).reduce((sum, { byteLength }) => sum + byteLength, 0);
