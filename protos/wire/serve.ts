import type { ServiceError } from '@agent-workflow/kit/errors';
import { hostPort } from '@agent-workflow/kit/host-port';
import { sizes } from '@agent-workflow/kit/sizes';
import { Server, type ServerCredentials } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { createArrivals, maxOpenBytes } from './arrivals.ts';
import { exchangePath } from './call-messages.ts';
import { createConnections } from './connections.ts';
import { serveCalls, type StreamedRpc } from './serve-calls.ts';
import { serviceName, type Context, type Services } from './definitions.ts';
import { addService, methodsOf, toRefusal, unknownCaller, type AroundCall, type Methods } from './handlers.ts';
import { createHeldReplies } from './held-replies.ts';
import { createPoolLimits } from './pool-limits.ts';
import { createGuard, toServerCredentials, type WireSecurity } from './security.ts';

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
  const hold = replies?.hold ?? holdNothing;
  for (const context of contexts)
    addService(server, {
      ...{ context, provided: () => provided.get(context), callerOf, onFailure, onUnknownCaller, around, streamed },
      ...{ pools: security.pools, limits, hold },
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
      provided.set(context, methodsOf(context, service));
      health.serving(context);
    },
    [Symbol.asyncDispose]: async () => {
      health.leaving();
      draining ??= everything.disposeAsync();
      await draining;
    },
  };
}

const ignore = (): void => undefined;

const holdNothing = (): (() => void) => ignore;

const justDo: AroundCall = (_call, work) => work();

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
