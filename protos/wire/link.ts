import { fromUnknown, type ServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '../call.ts';
import { limitCall, refusal, type CallLimit } from './call-limit.ts';

/** A method of any service, seen from outside: what it returns says whether it streams. */
export type Method = (request: object, call: Call) => Promise<object> | AsyncIterable<object>;

/**
 * The transport within one process: the same service, whose calls behave as they would over gRPC. A deadline is required, and past it the caller has `Timeout`; a caller's abort is `Cancelled`; whatever is thrown
 * arrives as a `ServiceError`. Leaving a stream early ends the service's iterator. A streaming method is an async
 * generator, or returns one without throwing itself.
 */
export function link<S extends object>(service: S): S {
  const methods = Object.entries(service) as [string, Method][];
  return Object.fromEntries(
    methods.map(([name, method]) => [name, (request: object, call: Call) => callMethod(method, request, call)]),
  ) as S;
}

function callMethod(method: Method, request: object, call: Call): Promise<object> | AsyncIterable<object> {
  const refused = refusal(call);
  if (refused) return fail(refused);
  const limit = limitCall(call);
  try {
    const result = method(request, limit.call);
    return Symbol.asyncIterator in result ? followStream(result, limit) : awaitReply(result, limit);
  } catch (error) {
    return fail(fromUnknown(error));
  }
}

function awaitReply(reply: Promise<object>, limit: CallLimit): Promise<object> {
  return new Promise((resolve, reject) => {
    limit.hold(reject);
    reply.then(
      (value) => {
        limit.release();
        resolve(value);
      },
      (error: unknown) => {
        limit.release();
        reject(fromUnknown(error));
      },
    );
  });
}

type Next = IteratorResult<object, undefined>;

const done: Next = { done: true, value: undefined };

/** An iterator that can be left, or cut, while the service's own is still waiting for its next item. */
function followStream(source: AsyncIterable<object>, limit: CallLimit): AsyncIterable<object> {
  let iterator: AsyncIterator<object> | undefined;
  let over: ServiceError | true | undefined;
  let waiting: ((error: ServiceError) => void) | undefined;

  const finish = (): void => {
    over = true;
    limit.release();
  };
  const endSource = (): void => {
    // The reader has left: what the service's clean-up throws has no receiver, as over gRPC.
    iterator?.return?.().catch(() => undefined);
  };
  const cut = (error: ServiceError): void => {
    over = error;
    endSource();
    if (!waiting) return;
    over = true;
    waiting(error);
  };
  const start = (): AsyncIterator<object> => {
    limit.hold(cut);
    return source[Symbol.asyncIterator]();
  };

  const next = (): Promise<Next> => {
    if (over) {
      const error = over;
      over = true;
      return error === true ? Promise.resolve(done) : Promise.reject(error);
    }
    const current = (iterator ??= start());
    return new Promise((resolve, reject) => {
      waiting = reject;
      current.next().then(
        (item) => {
          waiting = undefined;
          if (item.done) finish();
          resolve(item.done ? done : item);
        },
        (error: unknown) => {
          waiting = undefined;
          finish();
          reject(fromUnknown(error));
        },
      );
    });
  };
  const leave = (): Promise<Next> => {
    if (!over) {
      over = true;
      limit.leave();
      endSource();
    }
    return Promise.resolve(done);
  };
  const stream: AsyncIterableIterator<object, undefined> = {
    next,
    return: leave,
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

/** A failure before the method said whether it streams: rejects when awaited, throws when iterated. */
export function fail(error: ServiceError): Promise<object> & AsyncIterable<object> {
  const rejected = Promise.reject<object>(error);
  rejected.catch(() => undefined);
  const iterator: AsyncIterator<object> = { next: () => rejected.then(() => done) };
  return Object.assign(rejected, { [Symbol.asyncIterator]: () => iterator });
}
