import { errorCodes, fromUnknown } from '@agent-workflow/kit/errors';
import { counter, histogram, type Registry } from './metrics.ts';
import type { Span, SpanKind, Spans } from './spans.ts';
import { requestContexts, requestContext, withIds } from '@agent-workflow/kit/request-context';

type Result = Promise<object> | AsyncIterable<object>;

/** One call to a service, from either of its ends. */
interface CallInfo {
  /** The context and its method: `threads.commitStep`. */
  readonly method: string;
  readonly request: object;
}

/** What is done around a call. Gives what the call gives. */
export type AroundCall = (call: CallInfo, work: () => Result) => Result;

/** Methods of all contexts together, with room to spare: their names come from the code. */
const methods = 100;

export const callMetrics = {
  calls: counter('agent_workflow_calls_total', 'Calls that a service was asked, by how they ended', {
    method: methods,
    code: ['ok', ...errorCodes],
  }),
  seconds: histogram(
    'agent_workflow_call_seconds',
    'Time until a call was answered; streams are not among them',
    { method: methods },
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
  ),
  poolRefusals: counter('agent_workflow_pool_calls_refused_total', 'Calls of workers of pools that were not allowed', {
    method: methods,
    reason: ['never', 'agent', 'grant'],
  }),
  poolLimited: counter(
    'agent_workflow_pool_calls_limited_total',
    'Calls of workers of pools that were refused for now, because their pool makes too many; the workers make them again',
    { bound: ['calls', 'bytes', 'callsPerSecond', 'connections', 'streams', 'refusals', 'replies'] },
  ),
  unknownCallers: counter('agent_workflow_strangers_total', 'Calls refused because their caller is not known'),
};

/** A call of a pool's worker that was refused: no pool may make it, or it is about another agent, or its grant is of something else. */
export interface PoolRefusal {
  readonly method: string;
  readonly reason: 'never' | 'agent' | 'grant';
}

/** What one pool may have too much of at a process: calls under way, bytes of their requests, calls in a second, connections, streams of calls, refusals that wait, or bytes of replies that it does not read. */
export type PoolBound = 'calls' | 'bytes' | 'callsPerSecond' | 'connections' | 'streams' | 'refusals' | 'replies';

/** Called when a call begins, and what it gives when the call has ended: with `ok`, or the code of its error. */
type ObserveCall = (method: string) => (code: string, isStream: boolean) => void;

/** Counts the calls that this process serves. */
export function countCalls(registry: Registry): {
  readonly observe: ObserveCall;
  readonly onUnknownCaller: () => void;
  readonly onPoolRefusal: (refusal: PoolRefusal) => void;
  readonly onPoolLimited: (bound: PoolBound) => void;
} {
  const { calls, seconds, unknownCallers, poolRefusals, poolLimited } = registry.make(callMetrics);
  return {
    observe: (method) => {
      const start = performance.now();
      return (code, isStream) => {
        calls.add({ method, code });
        if (!isStream) seconds.observe({ method }, (performance.now() - start) / 1000);
      };
    },
    onUnknownCaller: () => unknownCallers.add({}),
    onPoolRefusal: ({ method, reason }) => poolRefusals.add({ method, reason }),
    onPoolLimited: (bound) => poolLimited.add({ bound }),
  };
}

interface AroundParts {
  readonly kind: SpanKind;
  readonly spans?: Spans | undefined;
  readonly observe?: ObserveCall | undefined;
}

/** Runs a call in its caller's request context with the ids that its request names, counts it and makes it a span. */
export function createAround({ kind, spans, observe }: AroundParts): AroundCall {
  return ({ method, request }, work) =>
    requestContexts.run(withIds(requestContext(), request), () => {
      const span = spans?.begin(method, { kind });
      const observed = observe?.(method);
      if (!span && !observed) return work();
      const end = (code: string, isStream: boolean): void => {
        span?.end(code === 'ok' ? undefined : code);
        observed?.(code, isStream);
      };
      return watch(span ? span.run(work) : work(), { span, end });
    });
}

interface Watched {
  readonly span: Span | undefined;
  readonly end: (code: string, isStream: boolean) => void;
}

const codeOf = (error: unknown): string => fromUnknown(error).code;

function watch(result: Result, watched: Watched): Result {
  // What failed before it was known to be a stream is both; it ends as a promise does.
  if (!(result instanceof Promise)) return watchStream(result, watched);
  result.then(
    () => watched.end('ok', false),
    (error: unknown) => watched.end(codeOf(error), false),
  );
  return result;
}

/** Each item is made within the span; leaving the stream early is no error. */
function watchStream(stream: AsyncIterable<object>, { span, end }: Watched): AsyncIterable<object> {
  const own = requestContext();
  const within = <T>(work: () => T): T => (span ? span.run(work) : requestContexts.run(own, work));
  const iterator = within(() => stream[Symbol.asyncIterator]());
  let isOver = false;
  const over = (code: string): void => {
    if (!isOver) end(code, true);
    isOver = true;
  };
  const watched: AsyncIterableIterator<object> = {
    next: async () => {
      try {
        const item = await within(() => iterator.next());
        if (item.done) over('ok');
        return item;
      } catch (error) {
        over(codeOf(error));
        throw error;
      }
    },
    return: async () => {
      over('ok');
      await within(() => iterator.return?.());
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => watched,
  };
  return watched;
}

type AnyMethod = (request: object, ...rest: readonly unknown[]) => Result;

/** The same service, with something done around each call of it. */
export function surround<S extends object>(context: string, service: S, around: AroundCall): S {
  const methods = Object.entries(service).map(([name, method]: [string, AnyMethod]): [string, AnyMethod] => [
    name,
    (request, ...rest) => around({ method: `${context}.${name}`, request }, () => method(request, ...rest)),
  ]);
  return Object.fromEntries(methods) as S;
}
