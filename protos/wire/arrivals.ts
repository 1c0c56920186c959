import { constants, type ServerHttp2Stream } from 'node:http2';
import {
  Metadata,
  ServerInterceptingCall,
  status,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type StatusObject,
} from '@grpc/grpc-js';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Connections } from './connections.ts';
import type { HeldReplies } from './held-replies.ts';
import type { Pool } from './pool-gate.ts';
import { tooMuch, type PoolLimiting } from './pool-limits.ts';
import { createRefusalPace } from './refusal-pace.ts';
import type { CallerOf } from './security.ts';

interface ArrivalOptions {
  readonly callerOf: (metadata: Metadata) => CallerOf;
  /** Whether everyone may call this path, as health checks do. */
  readonly isOpen: (path: string) => boolean;
  /** What a caller gets that is not one of ours. */
  readonly refusal: StatusObject;
  readonly onUnknownCaller: (path: string) => void;
  readonly limiting: PoolLimiting | undefined;
  /** Absent where every caller is one of the platform. */
  readonly connections: Pick<Connections, 'enter'> | undefined;
  /** Absent: replies are not counted. */
  readonly replies: Pick<HeldReplies, 'watch'> | undefined;
  readonly refuse: (error: unknown) => StatusObject;
  /** How long one request may take to arrive, in milliseconds. */
  readonly arrivalMs: number;
  /** How long a stream of calls of a pool may last, in milliseconds. */
  readonly streamMs: number;
}

/** The most bytes of a request by a caller that is not known, where everyone may call. */
export const maxOpenBytes = 4096;
/** Only the refusals of smaller requests wait, because a request is kept until its refusal is sent. */
const smallBytes = 4096;
/** The statuses of calls that a pool may not make, makes too often, or makes in a wrong way. */
const refusals: ReadonlySet<status> = new Set([
  status.RESOURCE_EXHAUSTED,
  status.FAILED_PRECONDITION,
  status.INVALID_ARGUMENT,
  status.PERMISSION_DENIED,
]);

/**
 * Holds requests to their bounds while they arrive: gRPC shows a request to its handler when all of it is there. A caller that is not known is
 * refused by its headers. What comes of the workers of a pool is counted, and a request of theirs that does not arrive in time is ended, so that
 * they hold no memory with requests that they never finish. The platform is trusted with that.
 */
export function createArrivals(options: ArrivalOptions): ServerInterceptor {
  const { callerOf, isOpen, refusal, onUnknownCaller, refuse, connections, replies, arrivalMs, streamMs } = options;
  const counts = options.limiting && createArrivalCounts(options.limiting);
  const pace = options.limiting && createRefusalPace(options.limiting.onLimited);
  const enter = (caller: Pool | undefined, isStream: boolean): ArrivingRequest | undefined =>
    caller ? counts?.enter(caller.name, isStream) : openRequest();
  return ({ path, requestStream: isStream }, call) => {
    let arrival: Arrival | undefined;
    let pool: string | undefined;
    return new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, goOn) => {
            const caller = callerOf(metadata)();
            if (!caller && !isOpen(path)) {
              onUnknownCaller(path);
              cut(call, refusal);
              return;
            }
            try {
              const stream = streamOf(call);
              if (stream) connections?.enter(stream, { caller, isStream });
              if (caller !== 'platform') {
                arrival = new Arrival(call, enter(caller, isStream), { refuse, arrivalMs, streamMs, isStream });
                if (!isStream) pool = caller?.name;
                if (stream && caller) replies?.watch(metadata, { stream, pool: caller.name });
              }
            } catch (error) {
              cut(call, refuse(error));
              return;
            }
            goOn(metadata);
          },
          onReceiveMessage: (message, goOn) => {
            arrival?.onWhole();
            goOn(message);
          },
          onReceiveHalfClose: (goOn) => {
            arrival?.onEnd();
            goOn();
          },
          onCancel: () => arrival?.onEnd(),
        });
      },
      sendStatus: (sent, next) => {
        const isPaced = pool !== undefined && refusals.has(sent.code) && arrival?.isSmall();
        const drop = (): void => streamOf(call)?.session?.destroy();
        if (pace && pool !== undefined && isPaced) pace({ pool, send: () => next(sent), drop });
        else next(sent);
      },
    });
  };
}

/** A request of a caller that is not known. */
function openRequest(): ArrivingRequest {
  let bytes = 0;
  return {
    add: (more) => {
      bytes += more;
      if (bytes > maxOpenBytes) throw new ServiceError('TooLarge', `more than ${String(maxOpenBytes)} bytes`);
    },
    onWhole: () => undefined,
    onEnd: () => undefined,
  };
}

interface ArrivalBounds extends Pick<ArrivalOptions, 'refuse' | 'arrivalMs' | 'streamMs'> {
  readonly isStream: boolean;
}

/** Follows one request, or those of a stream one after the other. */
class Arrival {
  readonly #call: ServerInterceptingCallInterface;
  readonly #counted: ArrivingRequest | undefined;
  readonly #bounds: ArrivalBounds;
  readonly #stream: ServerHttp2Stream | undefined;
  readonly #timer: NodeJS.Timeout;
  #arrived = 0;

  constructor(call: ServerInterceptingCallInterface, counted: ArrivingRequest | undefined, bounds: ArrivalBounds) {
    this.#call = call;
    this.#counted = counted;
    this.#bounds = bounds;
    this.#stream = counted && streamOf(call);
    this.#stream?.on('data', this.#onData);
    const { isStream, streamMs, arrivalMs } = bounds;
    // A stream may carry no request for any time, but it does not last for ever: a client of ours begins another one long before.
    this.#timer = isStream
      ? setTimeout(() => this.#cut(old(streamMs)), streamMs).unref()
      : setTimeout(() => this.#cut(late(arrivalMs)), arrivalMs).unref();
  }

  /** A request is there. */
  onWhole(): void {
    if (this.#bounds.isStream) this.#counted?.onWhole();
    else this.onEnd();
  }

  /** No more is to come. */
  onEnd(): void {
    clearTimeout(this.#timer);
    this.#stream?.off('data', this.#onData);
    this.#counted?.onEnd();
  }

  isSmall(): boolean {
    return this.#arrived <= smallBytes;
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#arrived += bytes.byteLength;
    try {
      this.#counted?.add(bytes.byteLength);
    } catch (error) {
      this.#cut(this.#bounds.refuse(error));
    }
  };

  #cut(reason: StatusObject): void {
    this.onEnd();
    cut(this.#call, reason);
  }
}

/** A call that ends like one whose connection is lost is made again where that changes nothing. */
const late = (arrivalMs: number): StatusObject => ({
  code: status.UNAVAILABLE,
  details: `the request did not arrive within ${String(arrivalMs / 1000)} s`,
  metadata: new Metadata(),
});

const old = (streamMs: number): StatusObject => ({
  code: status.UNAVAILABLE,
  details: `the stream has lasted ${String(streamMs / 1000)} s`,
  metadata: new Metadata(),
});

/** Ends a call whose caller may still be sending: what it sends is not waited for. */
function cut(call: ServerInterceptingCallInterface, reason: StatusObject): void {
  call.sendStatus(reason);
  streamOf(call)?.close(constants.NGHTTP2_NO_ERROR);
}

/** gRPC gives no other view of a request that is not whole. It reads the stream, which is paused until then: a listener starts nothing. */
const streamOf = (call: ServerInterceptingCallInterface): ServerHttp2Stream | undefined =>
  (call as { readonly stream?: ServerHttp2Stream }).stream;

/** A request that is arriving, or the requests of a stream one after the other. */
interface ArrivingRequest {
  /** Counts further bytes. @throws RateLimited when the requests of its pool have too many together; one that is alone may have any. */
  readonly add: (bytes: number) => void;
  /** A request is there: from here on its bytes count as those of a call under way. */
  readonly onWhole: () => void;
  /** No more is to come. */
  readonly onEnd: () => void;
}

/** Counts what is arriving, each pool for itself. */
interface ArrivalCounts {
  /** Begins a request, or a stream of them. @throws RateLimited when the pool has too many on their way. */
  readonly enter: (pool: string, isStream: boolean) => ArrivingRequest;
}

interface Use {
  requests: number;
  bytes: number;
}

/** What arrives has the same bounds as what is under way. A stream is no request: it may be without one for any time. */
function createArrivalCounts({ bounds, onLimited }: PoolLimiting): ArrivalCounts {
  /** The names come from the operator's file, which bounds their number. */
  const uses = new Map<string, Use>();

  const refuse = (pool: string, bound: 'calls' | 'bytes'): never => {
    onLimited({ pool, bound, most: bounds[bound] });
    throw tooMuch({ pool, bound, most: bounds[bound], tokens: 0 });
  };

  return {
    enter: (pool, isStream) => {
      const use = uses.get(pool) ?? { requests: 0, bytes: 0 };
      uses.set(pool, use);
      if (!isStream && use.requests >= bounds.calls) refuse(pool, 'calls');
      let [own, isOver] = [0, false];
      use.requests += isStream ? 0 : 1;
      const onWhole = (): void => {
        use.bytes -= own;
        own = 0;
      };
      return {
        add: (bytes) => {
          if (isOver) return;
          if (use.bytes > own && use.bytes + bytes > bounds.bytes) refuse(pool, 'bytes');
          use.bytes += bytes;
          own += bytes;
        },
        onWhole,
        onEnd: () => {
          if (isOver) return;
          isOver = true;
          onWhole();
          use.requests -= isStream ? 0 : 1;
        },
      };
    },
  };
}
