import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { toContextHeaders, requestContext } from '@agent-workflow/kit/request-context';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import { createShortLivedSet } from '@agent-workflow/kit/short-lived';
import {
  connectivityState,
  Metadata,
  status,
  type Client,
  type MethodDefinition,
  type ServiceError as GrpcError,
} from '@grpc/grpc-js';
import type { Call } from '../call.ts';
import type { RetryRule } from '../retry.ts';
import { UnknownCaller } from '../unknown-caller.ts';
import type { SentCall } from './call-stream.ts';
import { asBytes } from './call-messages.ts';
import type { CallStreams } from './call-streams.ts';
import type { HedgeBudget } from './hedge-budget.ts';
import { refusal } from './link.ts';
import type { ReplicaWatch } from './replica-watch.ts';
import { grantKey } from './security.ts';
import { nowhereElse, spreadBy, type Tried } from './spread.ts';
import { errorKey, fromStatus, notBegunKey } from './status.ts';

/** One call on its way to a server. */
export interface Outgoing {
  /** The service that is called. */
  readonly context: string;
  /** Where it is, as the operator names it. */
  readonly address: string;
  readonly client: Client;
  readonly metadata: Metadata;
  readonly streams: CallStreams;
  readonly rpc: MethodDefinition<object, object>;
  readonly rule: RetryRule;
  readonly budget: HedgeBudget;
  readonly watch: ReplicaWatch;
  readonly request: object;
  readonly call: Call;
}

/** How often one call is made at most. */
const maxAttempts = 6;
const firstPauseMs = 10;

/** How long an attempt may be without an answer before another is made beside it at another replica, in milliseconds. */
export const slowMs = 1000;

/**
 * How long a call waits for a connection where none stands, in milliseconds: when the servers are started again one after the
 * other, the last may go before the first is connected to anew.
 */
const connectMs = 1000;

/**
 * Makes a call, and makes it again where that changes nothing:
 * - whatever its rule, when no server has begun it: it never left this process, or reached one that is just starting;
 * - unless its rule is `never`, at another replica when the connection is lost on which it waits, as keepalive finds out of a
 *   replica that is frozen;
 * - unless its rule is `never`, at another replica when the one where it waits has fallen silent;
 * - unless its rule is `never` or it takes long, at another replica when it has had no answer for {@link slowMs}. The first
 *   answer counts, and the other attempt is cancelled. A budget bounds how many calls are doubled so.
 *
 * All attempts carry one `attemptId` where the rule asks for one: the caller's own, or one that is made here.
 */
export function awaitReply(outgoing: Outgoing): Promise<object> {
  const { call, rule } = outgoing;
  const refused = refusal(call);
  if (refused) return Promise.reject(refused);
  const request = rule.retry === 'attempt' ? { attemptId: randomUUID(), ...outgoing.request } : outgoing.request;
  return new Promise((resolve, reject) => {
    new RepeatedCall({ ...outgoing, request }, resolve, reject).begin();
  });
}

/** One call with all its attempts. */
class RepeatedCall {
  readonly #outgoing: Outgoing;
  readonly #resolve: (reply: object) => void;
  readonly #reject: (error: ServiceError) => void;
  readonly #addresses = new Set<string>();
  readonly #running = createShortLivedSet<SentCall>();
  /** The last refusal by a server. */
  #lastRefusal: GrpcError | undefined;
  #isPausing = false;
  #made = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(outgoing: Outgoing, resolve: (reply: object) => void, reject: (error: ServiceError) => void) {
    this.#outgoing = outgoing;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    const { call, rule } = this.#outgoing;
    call.signal.addEventListener('abort', this.#leave);
    if (rule.retry !== 'never' && !rule.takesLong) this.#timer = setTimeout(this.#hedge, slowMs);
    this.#attempt();
  }

  #attempt(mustDiffer = false): void {
    if (this.#isOver) return;
    this.#made += 1;
    const { context, call, rule, budget, watch } = this.#outgoing;
    let place: string | undefined;
    const tried: Tried = {
      ...{ addresses: this.#addresses, mustDiffer, silent: watch.silent, preferred: call.replicas?.get(context) },
      onPick: (address) => {
        place = address;
        if (!this.#isOver && rule.retry !== 'never') watch.enter(address, this.#beside);
      },
    };
    try {
      const sent = send(this.#outgoing, tried, (error, reply) => {
        if (this.#isOver) return;
        this.#running.delete(sent);
        if (error) {
          this.#failed(error);
          return;
        }
        this.#end();
        if (place !== undefined) call.replicas?.set(context, place);
        budget.answered();
        this.#resolve(reply ?? {});
      });
      this.#running.add(sent);
    } catch (error) {
      this.#fail(error);
    }
  }

  #failed(error: GrpcError): void {
    if (isAnswer(error)) this.#lastRefusal = error;
    const mayRepeat = isUnbegun(error) || (this.#outgoing.rule.retry !== 'never' && isLost(error));
    // Another attempt is on its way to the answer, or about to be made.
    if (mayRepeat && (this.#running.size() > 0 || this.#isPausing)) return;
    // That there was no other server for the last attempt says less than the refusal of one.
    if (!mayRepeat || this.#made >= maxAttempts)
      this.#fail(error.details === nowhereElse ? (this.#lastRefusal ?? error) : error);
    else void this.#attemptAfterPause(error);
  }

  /** Fails with `error` where another attempt is of no use. */
  async #attemptAfterPause(error: GrpcError): Promise<void> {
    this.#isPausing = true;
    const isOfUse = hasNotLeft(error)
      ? await whenConnected(this.#outgoing, () => this.#isOver)
      : await sleep(firstPauseMs * 2 ** this.#made, true);
    this.#isPausing = false;
    if (isOfUse) this.#attempt();
    else this.#fail(error);
  }

  /** Makes an attempt at another replica beside those that are under way; what they were in the middle of may still be answered. */
  readonly #beside = (): void => {
    if (this.#made < maxAttempts) this.#attempt(true);
  };

  readonly #hedge = (): void => {
    // What has arrived while this process itself was paused is read before this.
    setImmediate(() => {
      if (this.#isOver || this.#made >= maxAttempts || !this.#outgoing.budget.take()) return;
      this.#timer = setTimeout(this.#hedge, slowMs);
      this.#attempt(true);
    });
  };

  readonly #leave = (): void => {
    this.#end();
    this.#reject(fromStatus(status.CANCELLED, undefined, undefined));
  };

  #fail(error: unknown): void {
    this.#end();
    const { context, call } = this.#outgoing;
    const failure = translate(error, this.#outgoing);
    leavePlace(call, context, failure, this.#addresses);
    this.#reject(failure);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const { call, watch } = this.#outgoing;
    call.signal.removeEventListener('abort', this.#leave);
    for (const address of this.#addresses) watch.leave(address, this.#beside);
    for (const sent of this.#running.values()) sent.cancel();
  }
}

/** The next call that shares these replicas has its turn at any of them where one of `addresses` could not answer this one. */
export function leavePlace(
  { replicas }: Call,
  context: string,
  { code }: ServiceError,
  addresses: ReadonlySet<string>,
): void {
  const preferred = replicas?.get(context);
  if (preferred === undefined || !addresses.has(preferred)) return;
  if (code === 'Unavailable' || code === 'Timeout' || code === 'RateLimited') replicas?.delete(context);
}

type Answer = (error: GrpcError | null, reply?: object) => void;

/** By the stream of a server where one is free, else as a call of its own. @throws TooLarge. */
function send({ client, metadata, streams, rpc, request, call }: Outgoing, tried: Tried, answer: Answer): SentCall {
  const { path, requestSerialize, responseDeserialize } = rpc;
  const { deadline } = call;
  const message = requestSerialize(request);
  if (message.byteLength > sizes.rpc) throw tooLarge(message.byteLength);
  const streamed = streams.send(
    {
      ...{ path, message, deadline, context: headersOf(call) },
      answer: (error, bytes) => {
        if (error || !bytes) answer(error);
        else answerWith(bytes, responseDeserialize, answer);
      },
    },
    tried,
  );
  if (streamed) return streamed;
  const own = withHeaders(metadata, call);
  spreadBy(tried, own);
  return client.makeUnaryRequest(path, asBytes, responseDeserialize, message, own, { deadline }, answer);
}

const tooLarge = (bytes: number): ServiceError =>
  new ServiceError('TooLarge', `the request has ${bytesOver(bytes, sizes.rpc)}`);

/** As gRPC does with the reply to a call of its own. */
function answerWith(bytes: Buffer, deserialize: (bytes: Buffer) => object, answer: Answer): void {
  let reply: object;
  try {
    reply = deserialize(bytes);
  } catch (error) {
    const details = 'the reply cannot be read';
    const failure = new Error(details, { cause: error });
    answer(Object.assign(failure, { code: status.INTERNAL, details, metadata: new Metadata() }));
    return;
  }
  answer(null, reply);
}

/** The request context of the caller, and the grant that it shows. */
const headersOf = ({ grant }: Call): Readonly<Record<string, string>> => {
  const context = toContextHeaders(requestContext());
  return grant === undefined ? context : { ...context, [grantKey]: grant };
};

/** A copy with what goes along with this call. */
export function withHeaders(metadata: Metadata, call: Call): Metadata {
  const own = metadata.clone();
  for (const [name, value] of Object.entries(headersOf(call))) own.set(name, value);
  return own;
}

/** Whether the server answered, and not gRPC or a proxy. */
const isAnswer = ({ metadata }: GrpcError): boolean => metadata.get(errorKey).length > 0;

/** Whether no server has begun the call. */
const isUnbegun = (error: GrpcError): boolean => error.metadata.get(notBegunKey).length > 0 || hasNotLeft(error);

/** Whether gRPC refused the call itself, because it has no connection: a server's refusal says of itself that it is one. */
const hasNotLeft = (error: GrpcError): boolean =>
  error.details.includes('No connection established') && !isAnswer(error);

/**
 * Whether the call was cut off, so that what became of it is not known. A server that ends cancels its calls. A connection that
 * breaks in another way than by a reset (`EPIPE`, a stream that closes before its status) is `INTERNAL` in grpc-js.
 */
const isLost = (error: GrpcError): boolean =>
  !isAnswer(error) &&
  (error.code === status.UNAVAILABLE ||
    error.code === status.CANCELLED ||
    (error.code === status.INTERNAL && error.details.startsWith('Received RST_STREAM')) ||
    (error.code === status.RESOURCE_EXHAUSTED && error.details === tooManyStreams));

/** What grpc-js makes of ENHANCE_YOUR_CALM, with which Node refuses a call beyond those that a connection may have under way. */
const tooManyStreams = 'Bandwidth exhausted or memory limit exceeded';

/**
 * Waits until a connection stands; gives whether one does in time. Not by `waitForReady` of the client: one that is under way
 * when the client is closed makes it connect for ever.
 */
const whenConnected = ({ client, call: { deadline } }: Outgoing, isOver: () => boolean): Promise<boolean> =>
  new Promise((resolve) => {
    const channel = client.getChannel();
    const until = Math.min(deadline, Date.now() + connectMs);
    const check = (late?: Error): void => {
      const state = channel.getConnectivityState(false);
      if (late || isOver() || state === connectivityState.SHUTDOWN) resolve(false);
      else if (state === connectivityState.READY) resolve(true);
      else channel.watchConnectivityState(channel.getConnectivityState(true), until, check);
    };
    check();
  });

/**
 * A failure of gRPC, of a call that its caller has not left, as the error that was sent or meant: `Unavailable` when the call was
 * cut off. A closed client throws an error of another kind. The cause names the server, and what the operator has to look at.
 */
export function translate(error: unknown, called: Called): ServiceError {
  if (isServiceError(error)) return error;
  if (!isGrpcError(error)) return unavailable('the connection is closed', error);
  if (isLost(error)) return fromStatus(status.UNAVAILABLE, undefined, noAnswer(called, error));
  const { code, metadata } = error;
  if (isAnswer(error)) return fromStatus(code, metadata.get(errorKey)[0], error);
  // The fault is in a setting of this process, not in a request of its callers: they can try again once it is put right.
  if (code === status.UNIMPLEMENTED) return fromStatus(status.UNAVAILABLE, undefined, otherService(called));
  return fromStatus(code, undefined, causeOf(error, called));
}

type Called = Pick<Outgoing, 'context' | 'address' | 'rpc'>;

/** Why there is no answer of the server, for what may be the fault of a setting. */
function causeOf(error: GrpcError, called: Called): Error {
  if (error.code === status.UNAUTHENTICATED) return new UnknownCaller(called.context, called.address, error);
  return error.code === status.DEADLINE_EXCEEDED ? lateAnswer(called, error) : error;
}

/** The addresses of services are settings that are named after them. */
const placeOf = ({ context, address }: Called): string => `${address} (${context.toUpperCase()}_ADDRESS)`;

const noAnswer = (called: Called, { details }: GrpcError): Error =>
  new Error(`the ${called.context} service does not answer at ${placeOf(called)}: ${whyOf(details)}`);

/** gRPC's own text names times that differ at each call. It is the cause, so that the reason is the same text each time and is logged once. */
const lateAnswer = (called: Called, cause: GrpcError): Error =>
  new Error(`the ${called.context} service did not answer in time at ${placeOf(called)}`, { cause });

const otherService = (called: Called): Error =>
  new Error(
    `what answers at ${placeOf(called)} has no ${called.rpc.path}: it is not the ${called.context} service, or one of another version`,
  );

/** What gRPC says of its last attempt to connect, without what its balancers put around it. */
const whyOf = (details: string): string =>
  details.split('Last error: ').at(-1)?.split('. Resolution note:', 1)[0] ?? details;

const isGrpcError = (error: unknown): error is GrpcError =>
  error instanceof Error && 'metadata' in error && error.metadata instanceof Metadata;
