import { ServiceError, unanswered } from '@agent-workflow/kit/errors';
import { never, type Call } from '../call.ts';

/** Holds one call to its deadline and its caller. */
export interface CallLimit {
  /** What the handler is given. Its signal is made when it is first read: most handlers never look. */
  readonly call: Call;
  /** Starts the clock; `onEnd` is called at most once, with `Timeout` or `Cancelled`. */
  readonly hold: (onEnd: (error: ServiceError) => void) => void;
  /** The call has its answer: nothing fires any more. */
  readonly release: () => void;
  /** The caller left: releases, and fires the handler's signal. */
  readonly leave: () => void;
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

/** The limit of a call that {@link refusal} let through. */
export function limitCall({ deadline, signal }: Call): CallLimit {
  let controller: AbortController | undefined;
  let ended: ServiceError | undefined;
  let onEnd: ((error: ServiceError) => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  const release = (): void => {
    clearTimeout(timer);
    if (signal !== never) signal.removeEventListener('abort', cancel);
  };
  const end = (error: ServiceError): void => {
    if (ended) return;
    ended = error;
    release();
    controller?.abort(error);
    onEnd?.(error);
  };
  const cancel = (): void => {
    end(cancelled());
  };

  const makeSignal = (): AbortSignal => {
    if (ended) return AbortSignal.abort(ended);
    controller ??= new AbortController();
    return controller.signal;
  };

  return {
    call: withSignal(deadline, makeSignal),
    hold: (callback) => {
      onEnd = callback;
      timer = setTimeout(expire, Math.min(deadline - Date.now(), longestTimerMs), end);
      // Most calls of a process share `never`: listening to it would only make one long list.
      if (signal !== never) signal.addEventListener('abort', cancel);
    },
    release,
    leave: () => {
      onEnd = undefined;
      cancel();
    },
  };
}

const makeSignalOf = Symbol('makeSignal');

interface WithSignal {
  readonly [makeSignalOf]: () => AbortSignal;
}

/**
 * A call whose signal is made when it is read. All calls have one getter: V8 makes a hidden class for each getter that an object literal
 * has, and hidden classes are old from the beginning, so that each would keep all that its getter reaches until the whole heap is collected.
 */
function withSignal(deadline: number, makeSignal: () => AbortSignal): Call {
  const call: Pick<Call, 'deadline'> & WithSignal = { deadline, [makeSignalOf]: makeSignal };
  return Object.defineProperty(call, 'signal', signalMade) as Call & WithSignal;
}

const signalMade: PropertyDescriptor & ThisType<WithSignal> = {
  enumerable: true,
  get() {
    return this[makeSignalOf]();
  },
};

/** Node runs a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;

const expire = (end: (error: ServiceError) => void): void => {
  end(late());
};

const late = (): ServiceError => unanswered('the deadline passed before the answer was there');
const cancelled = (): ServiceError => new ServiceError('Cancelled', 'the caller went away');
