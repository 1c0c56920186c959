import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { toCarried, trail } from '@agent-workflow/kit/trail';
import {
  Client,
  Metadata,
  type ClientReadableStream,
  type MethodDefinition,
  type ServiceError as GrpcError,
} from '@grpc/grpc-js';
import type { Call } from '../call.ts';
import { definitionOf, methodName, type Context, type Services } from './definitions.ts';
import { createInflow, type Inflow } from './flow.ts';
import { refusal } from './leash.ts';
import { toChannelCredentials, toMetadata, type WireSecurity } from './security.ts';
import { errorKey, fromStatus, notBegunKey } from './status.ts';

/**
 * The service of a context as served at `address` (`host:port`, whose every address is used in turn, or a gRPC target such
 * as `ipv4:10.0.0.1:50051,10.0.0.2:50051`), shown what `security` says. It connects when first called. The ids and
 * the trace of whoever calls go along with each call. Disposal closes it: later calls are `Unavailable`.
 */
export function connect<C extends Context>(
  context: C,
  address: string,
  security: WireSecurity = {},
): Services[C] & AsyncDisposable {
  const client = new Client(targetOf(address), toChannelCredentials(security), channelOptions);
  const metadata = toMetadata(security);
  const methods = Object.entries(definitionOf(context)).map(([name, rpc]): [string, unknown] => [
    methodName(name),
    (request: object, call: Call) =>
      (rpc.responseStream ? followStream : awaitReply)({ client, metadata, rpc, request, call }),
  ]);
  const close = (): Promise<void> => {
    client.close();
    return Promise.resolve();
  };
  return { ...Object.fromEntries(methods), [Symbol.asyncDispose]: close } as unknown as Services[C] & AsyncDisposable;
}

const targetOf = (address: string): string => (/^(dns|ipv4|ipv6|unix):/.test(address) ? address : `dns:///${address}`);

// No retry policy: gRPC itself repeats what never left this process, we what no server has begun; what became of all else is not known.
const channelOptions = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.max_receive_message_length': sizes.rpc,
  'grpc.max_send_message_length': sizes.rpc,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  // The defaults wait a second at first and up to two minutes: a server that is back would not be called.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
};

interface Outgoing {
  readonly client: Client;
  readonly metadata: Metadata;
  readonly rpc: MethodDefinition<object, object>;
  readonly request: object;
  readonly call: Call;
}

/** How often a call is made that a server which is just starting did not begin: the next server in turn may serve. */
const attempts = 4;
const firstPauseMs = 10;

/**
 * How long a call waits for a connection where none stands, in milliseconds: when the servers are started again one after the
 * other, the last may go before the first is connected to anew.
 */
const connectMs = 1000;

async function awaitReply(outgoing: Outgoing): Promise<object> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await callOnce(outgoing);
    } catch (error) {
      if (attempt === attempts) throw error;
      if (hasNotLeft(error)) {
        if (!(await isConnected(outgoing))) throw error;
      } else if (isNotBegun(error)) await delay(firstPauseMs * 2 ** attempt);
      else throw error;
    }
  }
}

const isNotBegun = (error: unknown): boolean =>
  error instanceof Error && isGrpcError(error.cause) && error.cause.metadata.get(notBegunKey).length > 0;

/** Whether gRPC refused the call itself, because it has no connection: a server's refusal says of itself that it is one. */
const hasNotLeft = (error: unknown): boolean =>
  error instanceof Error &&
  isGrpcError(error.cause) &&
  error.cause.details.includes('No connection established') &&
  error.cause.metadata.get(errorKey).length === 0;

/** Waits until a connection stands; gives whether one does in time. Whoever does not want the answer any more need not wait. */
const isConnected = ({ client, call: { deadline, signal } }: Outgoing): Promise<boolean> =>
  new Promise((resolve) => {
    const leave = (): void => resolve(true);
    signal.addEventListener('abort', leave, { once: true });
    client.waitForReady(Math.min(deadline, Date.now() + connectMs), (error) => {
      signal.removeEventListener('abort', leave);
      resolve(error === undefined);
    });
  });

function callOnce({ client, metadata, rpc, request, call }: Outgoing): Promise<object> {
  const refused = refusal(call);
  if (refused) return Promise.reject(refused);
  const { deadline, signal } = call;
  return new Promise((resolve, reject) => {
    const answer = (error: GrpcError | null, reply?: object): void => {
      signal.removeEventListener('abort', cancel);
      if (error) reject(translate(error));
      else resolve(reply ?? {});
    };
    const cancel = (): void => {
      sent.cancel();
    };
    const sent = client.makeUnaryRequest(
      rpc.path,
      rpc.requestSerialize,
      rpc.responseDeserialize,
      request,
      withTrail(metadata),
      { deadline },
      answer,
    );
    signal.addEventListener('abort', cancel);
  }).catch((error: unknown) => {
    throw translate(error);
  }) as Promise<object>;
}

async function* followStream(outgoing: Outgoing): AsyncGenerator<object, undefined> {
  const { signal } = outgoing.call;
  const refused = refusal(outgoing.call);
  if (refused) throw refused;
  let stream: ClientReadableStream<object> | undefined;
  const cancel = (): void => stream?.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const inflow = createInflow(outgoing.rpc.responseDeserialize);
    stream = openStream(outgoing, inflow);
    for await (const item of stream) {
      inflow.taken();
      yield item as object;
    }
  } catch (error) {
    throw translate(error);
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

function openStream(
  { client, metadata, rpc, request, call }: Outgoing,
  { deserialize, bound }: Inflow,
): ClientReadableStream<object> {
  const { path, requestSerialize } = rpc;
  const options = { deadline: call.deadline };
  const stream = client.makeServerStreamRequest(
    path,
    requestSerialize,
    deserialize,
    request,
    withTrail(metadata),
    options,
  );
  bound(stream);
  // Iterating throws what matters; once it is left, the cancellation itself still arrives as an event.
  stream.on('error', () => undefined);
  return stream;
}

function withTrail(metadata: Metadata): Metadata {
  const carried = Object.entries(toCarried(trail()));
  if (carried.length === 0) return metadata;
  const own = metadata.clone();
  for (const [name, value] of carried) own.set(name, value);
  return own;
}

/** A failure of gRPC as the error that was sent or meant; a closed client throws an error of another kind. */
function translate(error: unknown): ServiceError {
  if (isServiceError(error)) return error;
  if (!isGrpcError(error)) return unavailable('the connection is closed', error);
  return fromStatus(error.code, error.metadata.get(errorKey)[0], error);
}

const isGrpcError = (error: unknown): error is GrpcError =>
  error instanceof Error && 'metadata' in error && error.metadata instanceof Metadata;
