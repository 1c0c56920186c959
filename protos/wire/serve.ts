import { fromUnknown, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { hostPort } from '@agent-workflow/kit/host-port';
import { sizes } from '@agent-workflow/kit/sizes';
import {
  contextHeaderNames,
  fromContextHeaders,
  requestContexts,
  withIds,
  type RequestContext,
} from '@agent-workflow/kit/request-context';
import {
  Metadata,
  Server,
  status,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Call } from '../call.ts';
import { createArrivals, maxOpenBytes } from './arrivals.ts';
import { exchangePath } from './call-messages.ts';
import { createConnections } from './connections.ts';
import { serveCalls, type StreamedRpc } from './serve-calls.ts';
import {
  definitionOf,
  methodName,
  poolRuleOf,
  serviceName,
  type Context,
  type Definition,
  type Rpc,
  type Services,
} from './definitions.ts';
import { createFieldCount } from './field-count.ts';
import { writeAll } from './flow.ts';
import { createHeldReplies, type HeldReplies } from './held-replies.ts';
import { fail, link, type Method } from './link.ts';
import { requestFault } from './listed.ts';
import { createPoolGate, type Caller, type PoolAccess } from './pool-gate.ts';
import { createPoolLimits, type Entered, type PoolLimits } from './pool-limits.ts';
import { poolTextFault } from './pool-texts.ts';
import { absentFault } from './required.ts';
import { createGuard, grantKey, toServerCredentials, type CallerOf, type WireSecurity } from './security.ts';
import { errorKey, notBegunKey, toStatus } from './status.ts';
import { createWorkEnds } from './work-ends.ts';

interface ServeOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /**
   * A further port that answers health checks alone, of every caller and without TLS: a kubelet has no certificate to show.
   * 0 takes a free one; absent: none.
   */
  readonly healthPort?: number;
  /** How long calls under way may take to finish once the server is disposed. */
  readonly drainMs: number;
  /** Who may call; absent: every process that reaches the port. */
  readonly security?: WireSecurity;
  /** Called for every failure that is ours, with its cause, which the caller never gets. */
  readonly onFailure: (error: ServiceError, method: string) => void;
  /** Runs around each call that was admitted, in the request context of its caller. */
  readonly around?: AroundCall;
  /** Called for each call that was refused because its caller is not known. */
  readonly onUnknownCaller?: () => void;
}

/** One call as it came in. */
interface ServedCall {
  /** The context and its method: `threads.commitStep`. */
  readonly method: string;
  readonly request: object;
}

/** Does something around a call; gives what `work` gives, or an iterable of the same items. */
type AroundCall = (call: ServedCall, work: () => ReturnType<Method>) => ReturnType<Method>;

/** Disposal drains: no new calls, those under way get `drainMs` to finish, then they are cut. Once more waits for the same. */
interface WireServer extends AsyncDisposable {
  readonly port: number;
  /** Where health checks are answered without TLS, if they are. */
  readonly healthPort?: number;
  /** Where it listens: `host:port`. */
  readonly address: string;
  /** From here on the service of this context answers, and its health says so. Before, its calls are `Unavailable`. */
  readonly provide: <C extends Context>(context: C, service: Services[C]) => void;
}

/** What liveness probes ask the health service for: it serves as long as the process does. */
const liveness = 'live';

/** Serves each given object over gRPC, with the health service beside them. @throws when the address cannot be taken. */
export async function serve(services: Partial<Services>, options: ServeOptions): Promise<WireServer> {
  const contexts = Object.keys(services) as Context[];
  const server = await openWireServer(contexts, options);
  for (const context of contexts) server.provide(context, services[context] as Services[typeof context]);
  return server;
}

/**
 * Listens for calls to these contexts before there is anything to answer them with, so that a process can say that it lives
 * while it waits for its store. Its health as a whole (`''`) is serving once every context is.
 * @throws when the address cannot be taken.
 */
export async function openWireServer(contexts: readonly Context[], options: ServeOptions): Promise<WireServer> {
  const { security = {}, onFailure, onUnknownCaller = ignore, around = justDo } = options;
  const callerOf = createGuard(security);
  const onLimited = security.pools?.limiting?.onLimited;
  // Without a token every caller is one of the platform.
  const connections =
    security.token === undefined ? undefined : createConnections({ bounds: connectionBounds, onLimited });
  const limits = security.pools?.limiting && createPoolLimits(security.pools.limiting);
  const replies = limits && createHeldReplies(limits.hold);
  const arrivals = createArrivals({
    ...{ callerOf, isOpen: isHealthCheck, refusal: unknownCaller, refuse: toRefusal, arrivalMs, streamMs },
    ...{ connections, replies },
    limiting: security.pools?.limiting,
    // No call is refused with a stream: the caller makes each as a call of its own then.
    onUnknownCaller: (path) => (path === exchangePath ? undefined : onUnknownCaller()),
  });
  const server = new Server({ ...serverOptions, interceptors: [arrivals] });
  const provided = new Map<Context, Methods>();
  const streamed = new Map<string, StreamedRpc>();
  const ends = createWorkEnds();
  const hold = replies?.hold ?? holdNothing;
  const counted = { pools: security.pools, enter: createEnter(limits), during: ends.during, hold };
  for (const context of contexts)
    addService(server, {
      ...{ context, provided: () => provided.get(context), callerOf, onFailure, onUnknownCaller, around, streamed },
      ...counted,
    });
  const endStreams = serveCalls(server, {
    rpcOf: (path) => streamed.get(path),
    ...{ callerOf, hold },
    refusal: unknownCaller,
  });
  const health = createHealth(contexts);
  health.service.addToServer(server);

  let draining: Promise<void> | undefined;
  await using opened = new AsyncDisposableStack();
  const healthPort = await openHealthPort(health, options, opened);
  const port = await bind(server, hostPort(options.host, options.port), toServerCredentials(security));
  connections?.watch(server);
  // Health checks are answered until the last call is over: what drains is alive.
  opened.defer(() => {
    endStreams();
    return drain(server, options.drainMs);
  });
  const everything = opened.move();
  return {
    port,
    ...(healthPort !== undefined && { healthPort }),
    address: hostPort(options.host, port),
    provide: (context, service) => {
      provided.set(context, methodsOf(context, ends.watch(service)));
      health.serving(context);
    },
    [Symbol.asyncDispose]: async () => {
      health.leaving();
      draining ??= everything.disposeAsync();
      await draining;
    },
  };
}

/** How long a health check may delay the end, in milliseconds. */
const healthDrainMs = 100;

async function openHealthPort(
  { service }: Health,
  { host, healthPort }: ServeOptions,
  opened: AsyncDisposableStack,
): Promise<number | undefined> {
  if (healthPort === undefined) return undefined;
  const server = new Server({
    'grpc.max_receive_message_length': maxOpenBytes,
    'grpc.max_concurrent_streams': connectionBounds.openCalls,
  });
  service.addToServer(server);
  opened.defer(() => drain(server, healthDrainMs));
  const port = await bind(server, hostPort(host, healthPort), toServerCredentials({}));
  createConnections({ bounds: connectionBounds, onLimited: undefined }).watch(server);
  return port;
}

interface Health {
  readonly service: HealthImplementation;
  readonly serving: (context: Context) => void;
  readonly leaving: () => void;
}

function createHealth(contexts: readonly Context[]): Health {
  const names = ['', ...contexts.map(serviceName)];
  const service = new HealthImplementation({
    ...Object.fromEntries(names.map((name) => [name, 'NOT_SERVING' as const])),
    [liveness]: 'SERVING',
  });
  const waiting = new Set(contexts);
  return {
    service,
    serving: (context) => {
      service.setStatus(serviceName(context), 'SERVING');
      waiting.delete(context);
      if (waiting.size === 0) service.setStatus('', 'SERVING');
    },
    leaving: () => {
      for (const name of names) service.setStatus(name, 'NOT_SERVING');
    },
  };
}

const serverOptions = {
  'grpc.max_receive_message_length': sizes.rpc,
  'grpc.max_send_message_length': sizes.rpc,
  // Clients look their servers up again when a connection ends: this is what spreads them over new replicas.
  'grpc.max_connection_age_ms': 10 * 60_000,
  // A caller that hangs holds its calls open no longer than this. It need not be as short as what a caller allows.
  'grpc.keepalive_time_ms': 3_000,
  'grpc.keepalive_timeout_ms': 4_000,
};

/** How long one request of a pool may take to arrive, in milliseconds: workers wait half as long for the reply to a large one. */
const arrivalMs = 60_000;

/** How long a stream of calls of a pool may last, in milliseconds: three times as long as a client of ours uses one. */
const streamMs = 15 * 60_000;

/**
 * What callers may keep open. A worker has one connection to each process and one stream on it, and for some minutes a second one of each when
 * they are renewed. A connection costs some 35 KB, with TLS more.
 */
const connectionBounds = {
  ...{ unknown: 500, unknownMs: 120_000, openCalls: 16, ofPool: 1000, streamsOfPool: 2000 },
  // Far more than a worker makes: its small calls are all on one stream. A client with so many calls may see one refused by Node that it makes
  // as soon as another has ended, because Node still counts the ended one for a moment.
  callsOfPool: 2000,
};

/** Health checks are answered to every caller: a kubelet has no token. */
const isHealthCheck = (path: string): boolean => path.startsWith('/grpc.health.v1.Health/');

type Methods = Readonly<Record<string, Method>>;

/** The methods of a service by name. @throws when the `.proto` has one that the object has not. */
function methodsOf(context: Context, service: object): Methods {
  const methods = link(service) as Methods;
  for (const rpc of Object.keys(definitionOf(context))) {
    if (!methods[methodName(rpc)]) throw new Error(`${context}: the service has no method ${methodName(rpc)}`);
  }
  return methods;
}

/** Calls of the platform are not counted. */
function createEnter(limits: PoolLimits | undefined): StreamedRpc['enter'] {
  return (caller, bytes) => (!caller || caller === 'platform' ? undefined : limits?.enter(caller.name, bytes));
}

interface Served extends Required<Pick<ServeOptions, 'onFailure' | 'onUnknownCaller' | 'around'>> {
  readonly context: Context;
  readonly provided: () => Methods | undefined;
  readonly callerOf: (metadata: Metadata) => CallerOf;
  readonly pools: PoolAccess | undefined;
  readonly enter: StreamedRpc['enter'];
  readonly hold: HeldReplies['hold'];
  readonly during: ReturnType<typeof createWorkEnds>['during'];
  /** Is given the RPCs that may be called on a stream, by path. */
  readonly streamed: Map<string, StreamedRpc>;
}

const ignore = (): void => undefined;

const holdNothing = (): (() => void) => ignore;

const justDo: AroundCall = (_call, work) => work();

function addService(server: Server, served: Served): void {
  const { context, callerOf, enter, hold, onUnknownCaller, streamed } = served;
  const definition = bounded(definitionOf(context));
  const bytesIn = new WeakMap<object, number>();
  const enterOwn: Answers['enter'] = (caller, request) => enter(caller, bytesIn.get(request) ?? 0);
  const handlers = Object.entries(definition).map(([rpc, described]): [string, UntypedHandleCall] => {
    const { path, responseStream, responseSerialize: serialize } = described;
    const method = createMethod(served, methodName(rpc), described);
    const answers = { method, refuse: createRefuse(served, path), callerOf, onUnknownCaller, enter: enterOwn };
    if (!responseStream) streamed.set(path, { ...toStreamed(described, answers), enter });
    return [rpc, responseStream ? streaming({ ...answers, serialize }) : unary({ ...answers, serialize, hold })];
  });
  server.addService(measured(definition, bytesIn), Object.fromEntries(handlers));
}

/** A method as it is called from outside, by callers that are known and let in. */
function createMethod({ context, provided, pools, during, around }: Served, name: string, rpc: Rpc): ServedMethod {
  const absentFaultOf = absentFault(rpc);
  const listFaultOf = requestFault(context, rpc);
  const textFaultOf = poolTextFault(rpc);
  const fullName = `${context}.${name}`;
  const passGate = createPoolGate(fullName, poolRuleOf(context, name), pools);
  const answer: ServedMethod = (request, call, from) =>
    around({ method: fullName, request }, () =>
      passGate({ ...from, request }, () => {
        const serving = provided()?.[name];
        if (!serving) return starting.call(request, call);
        const ofPool = from.caller !== 'platform';
        const fault = absentFaultOf(request) ?? listFaultOf(request) ?? (ofPool ? textFaultOf(request) : undefined);
        return fault ? fail(fault) : serving(request, call);
      }),
    );
  return (request, call, from) => {
    const { entered } = from;
    if (!entered) return answer(request, call, from);
    const begin = (): ReturnType<Method> => during(request, entered.onEnd, () => answer(request, call, from));
    // Pools may call no method that streams: it is refused at once.
    return entered.turn && !rpc.responseStream ? entered.turn.then(() => begin() as Promise<object>) : begin();
  };
}

const createRefuse =
  ({ onFailure }: Served, path: string): Answers['refuse'] =>
  (error) => {
    const known = fromUnknown(error);
    // The process has said in its log what it waits for: callers that come before are no failures.
    if (isOurs(known) && known.message !== startingMessage) onFailure(known, path);
    return toRefusal(known);
  };

function toRefusal(error: unknown): StatusObject {
  const known = fromUnknown(error);
  const { code, details, error: sent } = toStatus(known);
  const metadata = new Metadata();
  metadata.set(errorKey, sent);
  if (known.message === startingMessage) metadata.set(notBegunKey, 'starting');
  return { code, details, metadata };
}

/** The same service, which reads no request that has very many fields. */
const bounded = (definition: Definition): Definition =>
  Object.fromEntries(
    Object.entries(definition).map(([rpc, method]) => {
      const count = createFieldCount(method);
      const requestDeserialize = (bytes: Buffer): object => {
        count(bytes);
        return method.requestDeserialize(bytes);
      };
      return [rpc, { ...method, requestDeserialize }];
    }),
  );

/** The same service, which is given serialized replies: so what waits of them is known in bytes. Notes the bytes of requests. */
const measured = (definition: Definition, bytesIn: WeakMap<object, number>): Definition =>
  Object.fromEntries(
    Object.entries(definition).map(([rpc, method]) => [
      rpc,
      {
        ...method,
        responseSerialize: (bytes: object) => bytes as Buffer,
        requestDeserialize: (bytes: Buffer) => {
          const request = method.requestDeserialize(bytes);
          bytesIn.set(request, bytes.byteLength);
          return request;
        },
      },
    ]),
  );

/** Answers in place of a service that is not there yet. */
const starting = link<{ readonly call: Method }>({
  call: () => {
    throw unavailable(startingMessage);
  },
});

const startingMessage = 'the service is starting';

/** Who makes a call, and the grant that it shows. */
interface From {
  readonly caller: Caller | undefined;
  readonly grant: string | undefined;
  /** Absent: the call is not counted. */
  readonly entered: Entered | undefined;
}

type ServedMethod = (request: object, call: Call, from: From) => ReturnType<Method>;

interface Answers {
  readonly method: ServedMethod;
  readonly refuse: (error: unknown) => Partial<StatusObject>;
  readonly callerOf: (metadata: Metadata) => CallerOf;
  readonly onUnknownCaller: () => void;
  /** Lets in a call of its own, as {@link StreamedRpc} does. */
  readonly enter: (caller: Caller, request: object) => Entered | undefined;
}

/** To a caller who is not one of ours: a status of gRPC's own, because none of our errors is meant for it. */
const unknownCaller: StatusObject = {
  code: status.UNAUTHENTICATED,
  details: 'the caller is not known',
  metadata: new Metadata(),
};

/** About what a call of its own takes in memory while its reply is not read, beside the reply. */
const ownCallBytes = 8 * 1024;

interface UnaryAnswers extends SerializedAnswers {
  readonly hold: HeldReplies['hold'];
}

function unary(answers: UnaryAnswers): handleUnaryCall<object, Buffer> {
  const { method, refuse, serialize, hold } = answers;
  return (call, answer) => {
    const from = fromOf(call, answers);
    if ('refused' in from) {
      answer(from.refused);
      return;
    }
    requestContexts.run(contextOfCall(call), () => {
      const reply = method(call.request, callOf(call), from) as Promise<object>;
      reply.then(serialize).then(
        (bytes) => {
          hold(call.metadata, bytes.byteLength + ownCallBytes);
          answer(null, bytes);
        },
        (error: unknown) => {
          answer(refuse(error));
        },
      );
    });
  };
}

/** Who makes a call that is let in, or what it is refused with. */
function fromOf(
  { metadata, request }: Incoming,
  { callerOf, onUnknownCaller, enter, refuse }: Answers,
): From | { readonly refused: Partial<StatusObject> } {
  const caller = callerOf(metadata)();
  if (!caller) {
    onUnknownCaller();
    return { refused: unknownCaller };
  }
  try {
    const [grant] = metadata.get(grantKey);
    return { caller, grant: typeof grant === 'string' ? grant : undefined, entered: enter(caller, request) };
  } catch (error) {
    return { refused: refuse(error) };
  }
}

/** The same RPC for calls that come on a stream. */
const toStreamed = (
  { requestDeserialize: deserialize, responseSerialize: serialize }: Definition[string],
  { method, refuse }: Answers,
): Omit<StreamedRpc, 'enter'> => ({
  ...{ deserialize, serialize, refuse },
  answer: ({ request, context, deadline, signal, caller, entered }) =>
    requestContexts.run(
      withIds(fromContextHeaders(context), request),
      () => method(request, { deadline, signal }, { caller, entered, grant: context[grantKey] }) as Promise<object>,
    ),
});

interface SerializedAnswers extends Answers {
  readonly serialize: (item: object) => Buffer;
}

function streaming(answers: SerializedAnswers): handleServerStreamingCall<object, Buffer> {
  const { method, refuse, serialize } = answers;
  return (stream) => {
    const from = fromOf(stream, answers);
    if ('refused' in from) {
      stream.emit('error', from.refused);
      return;
    }
    const context = callOf(stream);
    const { signal } = context;
    requestContexts.run(contextOfCall(stream), () => {
      const items = method(stream.request, context, from) as AsyncIterable<object>;
      writeAll(items, stream, { serialize, signal }).then(
        () => {
          stream.end();
        },
        (error: unknown) => {
          // Nobody receives an error behind a caller that has left, and it is mostly only that.
          stream.emit('error', signal.aborted ? toRefusal(error) : refuse(error));
        },
      );
    });
  };
}

type Incoming = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

/** Whose work a call is: as its caller says, and as its request names it. */
function contextOfCall({ metadata, request }: Incoming): RequestContext {
  const headers: Record<string, string> = {};
  for (const name of contextHeaderNames) {
    const [value] = metadata.get(name);
    if (typeof value === 'string') headers[name] = value;
  }
  return withIds(fromContextHeaders(headers), request);
}

function callOf(call: Incoming): Call {
  const controller = new AbortController();
  call.once('cancelled', () => {
    controller.abort();
  });
  return { deadline: Number(call.getDeadline()), signal: controller.signal };
}

const ourFailures = new Set(['Internal', 'StorageFailed', 'Unavailable']);

const isOurs = ({ code }: ServiceError): boolean => ourFailures.has(code);

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

/**
 * Ends a server, with the calls that are under way after `drainMs`. It does not wait for `tryShutdown` then: a connection that was lost
 * during the drain may never be reported to it.
 */
function drain(server: Server, drainMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, drainMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
