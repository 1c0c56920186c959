import { fromUnknown, ServiceError, unanswered } from '@agent-workflow/kit/errors';
import { never, type Call } from '../call.ts';

/** A method of any service, seen from outside: what it returns says whether it streams. */
export type Method = (request: object, call: Call) => Promise<object> | AsyncIterable<object>;

/** `onEnd` is called once: when the work has ended in the service itself, which may be long after its caller was answered. */
export type LinkedMethod = (request: object, call: Call, onEnd?: () => void) => ReturnType<Method>;

/**
 * The transport within one process: the same service, whose calls behave as they would over gRPC. A deadline is required, and past it the caller has `Timeout`; a caller's abort is `Cancelled`; whatever is thrown
 * arrives as a `ServiceError`. Leaving a stream early ends the service's iterator. A streaming method is an async
 * generator, or returns one without throwing itself.
 */
export function link<S extends object>(service: S): S {
  const methods = Object.entries(service) as [string, Method][];
  return Object.fromEntries(
    methods.map(([name, method]): [string, LinkedMethod] => [
      name,
      (request, call, onEnd) => callMethod(method, request, call, onEnd),
    ]),
  ) as S;
}

function callMethod(method: Method, request: object, call: Call, onEnd?: () => void): ReturnType<Method> {
  try {
    const refused = refusal(call);
    if (refused) throw refused;
    const held = new HeldCall(call);
    const result = method(request, held);
    const isStream = Symbol.asyncIterator in result;
    if (isStream) onEnd?.();
    else if (onEnd) result.then(onEnd, onEnd);
    return isStream ? followStream(result, held) : awaitReply(result, held);
  } catch (error) {
    onEnd?.();
    return fail(fromUnknown(error));
  }
}

/**
 * Why a call may not begin: its deadline is missing or over, or its caller has gone already.
 * @returns `undefined` when it may.
 */
export function refusal({ deadline, signal }: Call): ServiceError | undefined {
  if (!Number.isFinite(deadline)) return new ServiceError('BadRequest', 'a call needs a deadline');
  if (signal.aborted) return cancelled();
  return deadline <= Date.now() ? late() : undefined;
}

/** One call as its handler gets it, which is held to its deadline and its caller. Its signal is made when it is first read: most handlers never look. */
class HeldCall implements Call {
  readonly deadline: number;
  declare readonly signal: AbortSignal;
  readonly #caller: AbortSignal;
  #controller: AbortController | undefined;
  #ended: ServiceError | undefined;
  #onEnd: ((error: ServiceError) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #cancel = (): void => this.end(cancelled());

  constructor({ deadline, signal }: Call) {
    this.deadline = deadline;
    this.#caller = signal;
    // A handler may spread its call.
    Object.defineProperty(this, 'signal', signalMade);
  }

  makeSignal(): AbortSignal {
    if (this.#ended) return AbortSignal.abort(this.#ended);
    return (this.#controller ??= new AbortController()).signal;
  }

  /** Starts the clock; `onEnd` is called at most once, with `Timeout` or `Cancelled`. */
  hold(onEnd: (error: ServiceError) => void): void {
    this.#onEnd = onEnd;
    this.#timer = setTimeout(expire, Math.min(this.deadline - Date.now(), longestTimerMs), this);
    // Most calls of a process share `never`: listening to it would only make one long list.
    if (this.#caller !== never) this.#caller.addEventListener('abort', this.#cancel);
  }

  /** The call has its answer: nothing fires any more. */
  release(): void {
    clearTimeout(this.#timer);
    if (this.#caller !== never) this.#caller.removeEventListener('abort', this.#cancel);
  }

  /** The caller left: releases, and fires the handler's signal. */
  leave(): void {
    this.#onEnd = undefined;
    this.end(cancelled());
  }

  end(error: ServiceError): void {
    if (this.#ended) return;
    this.#ended = error;
    this.release();
    this.#controller?.abort(error);
    this.#onEnd?.(error);
  }
}

/**
 * One getter for all calls: V8 makes a hidden class for each getter that an object literal has, and hidden classes are old from the beginning, so
 * that each would keep all that its getter reaches until the whole heap is collected.
 */
const signalMade: PropertyDescriptor & ThisType<HeldCall> = {
  enumerable: true,
  get() {
    return this.makeSignal();
  },
};

/** Node runs a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;

const expire = (call: HeldCall): void => call.end(late());

const late = (): ServiceError => unanswered('the deadline passed before the answer was there');
const cancelled = (): ServiceError => new ServiceError('Cancelled', 'the caller went away');

function awaitReply(reply: Promise<object>, held: HeldCall): Promise<object> {
  return new Promise((resolve, reject) => {
    held.hold(reject);
    reply.then(
      (value) => {
        held.release();
        resolve(value);
      },
      (error: unknown) => {
        held.release();
        reject(fromUnknown(error));
      },
    );
  });
}

type Next = IteratorResult<object, undefined>;

const done: Next = { done: true, value: undefined };

/** An iterator that can be left, or cut, while the service's own is still waiting for its next item. */
function followStream(source: AsyncIterable<object>, held: HeldCall): AsyncIterable<object> {
  let iterator: AsyncIterator<object> | undefined;
  let over: ServiceError | true | undefined;
  let waiting: ((error: ServiceError) => void) | undefined;

  const finish = (): void => {
    over = true;
    held.release();
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
    held.hold(cut);
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
      held.leave();
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
