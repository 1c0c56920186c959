import { fromUnknown, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import {
  contextHeaderNames,
  fromContextHeaders,
  requestContexts,
  withIds,
  type RequestContext,
} from '@agent-workflow/kit/request-context';
import {
  Metadata,
  status,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import type { Call } from '../call.ts';
import {
  boundedReader,
  definitionOf,
  methodName,
  poolRuleOf,
  type Context,
  type Definition,
  type Rpc,
} from './definitions.ts';
import { writeAll } from './flow.ts';
import type { HeldReplies } from './held-replies.ts';
import { fail, link, type LinkedMethod, type Method } from './link.ts';
import { requestFault } from './listed.ts';
import { createPoolGate, type Caller, type PoolAccess } from './pool-gate.ts';
import type { Entered, PoolLimits } from './pool-limits.ts';
import { poolTextFault } from './pool-texts.ts';
import { grantKey, type CallerOf } from './security.ts';
import type { StreamedRpc } from './serve-calls.ts';
import { errorKey, notBegunKey, toStatus } from './status.ts';

/** One call as it came in. */
interface ServedCall {
  /** The context and its method: `threads.commitStep`. */
  readonly method: string;
  readonly request: object;
}

/** Does something around a call; gives what `work` gives, or an iterable of the same items. */
export type AroundCall = (call: ServedCall, work: () => ReturnType<Method>) => ReturnType<Method>;

export type Methods = Readonly<Record<string, LinkedMethod>>;

/** The methods of a service by name. @throws when the `.proto` has one that the object has not. */
export function methodsOf(context: Context, service: object): Methods {
  const methods = link(service) as Methods;
  for (const rpc of Object.keys(definitionOf(context))) {
    if (!methods[methodName(rpc)]) throw new Error(`${context}: the service has no method ${methodName(rpc)}`);
  }
  return methods;
}

interface Served {
  readonly context: Context;
  readonly provided: () => Methods | undefined;
  readonly callerOf: (metadata: Metadata) => CallerOf;
  readonly onFailure: (error: ServiceError, method: string) => void;
  readonly onUnknownCaller: () => void;
  readonly around: AroundCall;
  readonly pools: PoolAccess | undefined;
  readonly limits: PoolLimits | undefined;
  readonly hold: HeldReplies['hold'];
  /** Is given the RPCs that may be called on a stream, by path. */
  readonly streamed: Map<string, StreamedRpc>;
}

/** Answers the calls of a context. Those that may come on a stream are answered in the same way there. */
export function addService(server: Server, served: Served): void {
  const { context, callerOf, hold, limits, onUnknownCaller, streamed } = served;
  const bytesIn = new WeakMap<object, number>();
  const enter: StreamedRpc['enter'] = (caller, bytes) =>
    // Calls of the platform are not counted.
    !caller || caller === 'platform' ? undefined : limits?.enter(caller.name, bytes);
  const enterOwn: Answers['enter'] = (caller, request) => enter(caller, bytesIn.get(request) ?? 0);
  const handlers: Record<string, UntypedHandleCall> = {};
  const definition: Record<string, Definition[string]> = {};
  for (const [name, rpc] of Object.entries(definitionOf(context))) {
    const { path, responseStream, responseSerialize: serialize } = rpc;
    const read = boundedReader(rpc);
    const method = createMethod(served, methodName(name), rpc);
    const refuse = createRefuse(served, path);
    const answers = { method, refuse, callerOf, onUnknownCaller, enter: enterOwn, serialize };
    if (!responseStream)
      streamed.set(path, { deserialize: read, serialize, refuse, enter, answer: toStreamed(method) });
    handlers[name] = responseStream ? streaming(answers) : unary(answers, hold);
    definition[name] = {
      ...rpc,
      // gRPC is given serialized replies: so what waits of them is known in bytes.
      responseSerialize: (bytes) => bytes as Buffer,
      requestDeserialize: (bytes) => {
        const request = read(bytes);
        bytesIn.set(request, bytes.byteLength);
        return request;
      },
    };
  }
  server.addService(definition, handlers);
}

/** A method as it is called from outside, by callers that are known and let in. */
function createMethod({ context, provided, pools, around }: Served, name: string, rpc: Rpc): ServedMethod {
  const faultOf = requestFault(context, rpc);
  const textFaultOf = poolTextFault(rpc);
  const fullName = `${context}.${name}`;
  const passGate = createPoolGate(fullName, poolRuleOf(context, name), pools);
  const answer = (request: object, call: Call, from: From, takeEnd?: () => (() => void) | undefined) =>
    around({ method: fullName, request }, () =>
      passGate({ ...from, request }, () => {
        const serving = provided()?.[name];
        if (!serving) return fail(unavailable(startingMessage));
        const fault = faultOf(request) ?? (from.caller === 'platform' ? undefined : textFaultOf(request));
        return fault ? fail(fault) : serving(request, call, takeEnd?.());
      }),
    );
  return (request, call, from) => {
    const { entered } = from;
    if (!entered) return answer(request, call, from);
    const begin = (): ReturnType<Method> => {
      const ends = [entered.onEnd];
      try {
        return answer(request, call, from, () => ends.pop());
      } finally {
        // It has not reached the service.
        ends.pop()?.();
      }
    };
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

export function toRefusal(error: unknown): StatusObject {
  const known = fromUnknown(error);
  const { code, details, error: sent } = toStatus(known);
  const metadata = new Metadata();
  metadata.set(errorKey, sent);
  if (known.message === startingMessage) metadata.set(notBegunKey, 'starting');
  return { code, details, metadata };
}

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
  readonly serialize: (item: object) => Buffer;
}

/** To a caller who is not one of ours: a status of gRPC's own, because none of our errors is meant for it. */
export const unknownCaller: StatusObject = {
  code: status.UNAUTHENTICATED,
  details: 'the caller is not known',
  metadata: new Metadata(),
};

/** About what a call of its own takes in memory while its reply is not read, beside the reply. */
const ownCallBytes = 8 * 1024;

function unary(answers: Answers, hold: HeldReplies['hold']): handleUnaryCall<object, Buffer> {
  const { method, refuse, serialize } = answers;
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

/** The same for calls that come on a stream. */
const toStreamed =
  (method: ServedMethod): StreamedRpc['answer'] =>
  ({ request, context, deadline, signal, caller, entered }) =>
    requestContexts.run(
      withIds(fromContextHeaders(context), request),
      () => method(request, { deadline, signal }, { caller, entered, grant: context[grantKey] }) as Promise<object>,
    );

function streaming(answers: Answers): handleServerStreamingCall<object, Buffer> {
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
