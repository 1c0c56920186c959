import { once } from 'node:events';
import { fromUnknown, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import {
  Metadata,
  Server,
  ServerCredentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Call } from '../call.ts';
import { definitionOf, methodName, serviceName, type Context, type Services } from './definitions.ts';
import { link, type Method } from './link.ts';
import { errorKey, toStatus } from './status.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** How long calls under way may take to finish once the server is disposed. */
  readonly drainMs: number;
  /** Told of every failure that is ours, with its cause, which the caller never gets. */
  readonly onFailure: (error: ServiceError, method: string) => void;
}

/** Disposal drains: no new calls, those under way get `drainMs` to finish, then they are cut. */
export interface WireServer extends AsyncDisposable {
  readonly port: number;
  /** From here on the service of this context answers, and its health says so. Before, its calls are `Unavailable`. */
  readonly provide: <C extends Context>(context: C, service: Services[C]) => void;
}

/** What liveness probes ask the health service for: it serves as long as the process does. */
export const liveness = 'live';

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
  const server = new Server(serverOptions);
  const provided = new Map<Context, Methods>();
  for (const context of contexts) addService(server, context, () => provided.get(context), options.onFailure);
  const health = createHealth(contexts);
  health.service.addToServer(server);

  const port = await bind(server, `${options.host}:${String(options.port)}`);
  return {
    port,
    provide: (context, service) => {
      provided.set(context, methodsOf(context, service));
      health.serving(context);
    },
    [Symbol.asyncDispose]: async () => {
      health.leaving();
      await drain(server, options.drainMs);
    },
  };
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
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
};

type Methods = Readonly<Record<string, Method>>;

/** The methods of a service by name. @throws when the `.proto` has one that the object has not. */
function methodsOf(context: Context, service: object): Methods {
  const methods = link(service) as Methods;
  for (const rpc of Object.keys(definitionOf(context))) {
    if (!methods[methodName(rpc)]) throw new Error(`${context}: the service has no method ${methodName(rpc)}`);
  }
  return methods;
}

function addService(
  server: Server,
  context: Context,
  provided: () => Methods | undefined,
  onFailure: ServeOptions['onFailure'],
): void {
  const definition = definitionOf(context);
  const handlers = Object.entries(definition).map(([rpc, { path, responseStream }]): [string, UntypedHandleCall] => {
    const method: Method = (request, call) => (provided()?.[methodName(rpc)] ?? starting.call)(request, call);
    const refuse = (error: unknown): Partial<StatusObject> => {
      const known = fromUnknown(error);
      if (isOurs(known)) onFailure(known, path);
      const status = toStatus(known);
      const metadata = new Metadata();
      metadata.set(errorKey, status.error);
      return { code: status.code, details: status.details, metadata };
    };
    return [rpc, responseStream ? streaming(method, refuse) : unary(method, refuse)];
  });
  server.addService(definition, Object.fromEntries(handlers));
}

/** Answers in place of a service that is not there yet. */
const starting = link<{ readonly call: Method }>({
  call: () => {
    throw unavailable('the service is starting');
  },
});

type Refuse = (error: unknown) => Partial<StatusObject>;

function unary(method: Method, refuse: Refuse): handleUnaryCall<object, object> {
  return (call, answer) => {
    const reply = method(call.request, callOf(call)) as Promise<object>;
    reply.then(
      (value) => {
        answer(null, value);
      },
      (error: unknown) => {
        answer(refuse(error));
      },
    );
  };
}

function streaming(method: Method, refuse: Refuse): handleServerStreamingCall<object, object> {
  return (stream) => {
    const context = callOf(stream);
    writeAll(method(stream.request, context) as AsyncIterable<object>, stream, context.signal).then(
      () => {
        stream.end();
      },
      (error: unknown) => {
        stream.emit('error', refuse(error));
      },
    );
  };
}

/** Writes as fast as the reader reads: a slow one makes the service wait. */
async function writeAll(
  items: AsyncIterable<object>,
  stream: ServerWritableStream<object, object>,
  signal: AbortSignal,
): Promise<void> {
  for await (const item of items) {
    if (!stream.write(item)) await once(stream, 'drain', { signal });
  }
}

function callOf(call: ServerUnaryCall<object, object> | ServerWritableStream<object, object>): Call {
  const controller = new AbortController();
  call.once('cancelled', () => {
    controller.abort();
  });
  return { deadline: Number(call.getDeadline()), signal: controller.signal };
}

const ourFailures = new Set(['Internal', 'StorageFailed', 'Unavailable']);

const isOurs = ({ code }: ServiceError): boolean => ourFailures.has(code);

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

function drain(server: Server, drainMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
    }, drainMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
