import type * as otel from '@opentelemetry/api';
import type { Context, DiagLogger, Span as OtelSpan, SpanKind as OtelKind, Tracer } from '@opentelemetry/api';
import { ConfigError } from '@agent-workflow/kit/env';
import { requestContexts, requestContext, type RequestContext } from '@agent-workflow/kit/request-context';

export type SpanKind = 'internal' | 'server' | 'client' | 'consumer';

/** Ids, counts, codes and names of ours: never a content, an owner, an address or a query. */
export type Attributes = Readonly<Record<string, string | number | boolean | string[]>>;

interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
}

/** One unit of work in a trace. */
export interface Span {
  /** Does work within it: spans that begin there are its children, and calls pass its request context on. */
  readonly run: <T>(work: () => T) => T;
  readonly rename: (name: string) => void;
  readonly set: (attributes: Attributes) => void;
  /** `error` is the code of what went wrong: why in words may hold contents, and stays in the log. */
  readonly end: (error?: string) => void;
}

/** Makes spans. Disposal sends what has not been sent, and waits for that a little. */
export interface Spans extends AsyncDisposable {
  /** A span below the one that the request context names; `undefined` where it names none. */
  readonly begin: (name: string, options?: SpanOptions) => Span | undefined;
  /** The same where work comes in from outside: where no trace is named, one begins. */
  readonly enter: (name: string, options?: SpanOptions) => Span;
}

interface SpansOptions {
  /** The name that the spans' process goes by. */
  readonly service: string;
  /** Where the collector listens for OTLP over HTTP; `/v1/traces` is added. */
  readonly endpoint: string;
  /** Called when spans could not be sent, at most once a minute: they are lost. */
  readonly onLost: (error: unknown) => void;
}

/** What the process waits for at its end so that its last spans are sent, in milliseconds. */
const lastMs = 2000;

/**
 * Sends spans to a collector, in the background and in bunches. The SDK is loaded here, and reads the standard's own variables
 * (`OTEL_TRACES_SAMPLER`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_HEADERS`, …) itself.
 * @throws ConfigError when the endpoint is no address, or the SDK is not installed.
 */
export async function openSpans({ service, endpoint, onLost }: SpansOptions): Promise<Spans> {
  if (!/^https?:/.test(endpoint) || !URL.canParse(endpoint))
    throw new ConfigError('OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https address');
  const api = await import('@opentelemetry/api');
  const sdk = await loadSdk();
  api.diag.setLogger(lostSpansLogger(onLost), { logLevel: api.DiagLogLevel.ERROR, suppressOverrideMessage: true });
  // One for all services of this process: it is theirs together whose code runs.
  api.context.setGlobalContextManager(new sdk.AsyncLocalStorageContextManager().enable());
  const named = sdk.resourceFromAttributes({ 'service.name': `agent-workflow-${service}` });
  const resource = named.merge(sdk.detectResources({ detectors: [sdk.envDetector] }));
  const exporter = new sdk.OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` });
  const provider = new sdk.BasicTracerProvider({ resource, spanProcessors: [new sdk.BatchSpanProcessor(exporter)] });
  // For spans that agents' code makes; the first service of a process gives them its name.
  api.trace.setGlobalTracerProvider(provider);
  const spans = createSpans(api, provider.getTracer('agent-workflow-service'));
  return {
    ...spans,
    [Symbol.asyncDispose]: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, lastMs);
      });
      await Promise.race([provider.shutdown().catch(onLost), late]);
      clearTimeout(timer);
    },
  };
}

async function loadSdk() {
  try {
    const [traces, contexts, resources, exporters] = await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
    return { ...traces, ...contexts, ...resources, ...exporters };
  } catch (error) {
    throw new ConfigError(
      `OTEL_EXPORTER_OTLP_ENDPOINT needs the optional packages of services/kit/package.json: ${String(error)}`,
    );
  }
}

const quietMs = 60_000;

function lostSpansLogger(onLost: SpansOptions['onLost']): DiagLogger {
  let reportedAt = -Infinity;
  const report = (...parts: unknown[]): void => {
    if (performance.now() - reportedAt < quietMs) return;
    reportedAt = performance.now();
    onLost(parts.map(String).join(' '));
  };
  const ignore = (): void => undefined;
  return { error: report, warn: ignore, info: ignore, debug: ignore, verbose: ignore };
}

type Api = typeof otel;

function createSpans(api: Api, tracer: Tracer): Omit<Spans, typeof Symbol.asyncDispose> {
  const kinds: Readonly<Record<SpanKind, OtelKind>> = {
    internal: api.SpanKind.INTERNAL,
    server: api.SpanKind.SERVER,
    client: api.SpanKind.CLIENT,
    consumer: api.SpanKind.CONSUMER,
  };
  const inStep = api.createContextKey('the request context that belongs to this context');
  const enter: Spans['enter'] = (name, { kind = 'internal', attributes = {} } = {}) => {
    const own = requestContext();
    const active = api.context.active();
    // As long as both go together, the context may hold a span that agents' code has made below ours.
    const parent = active.getValue(inStep) === own.traceparent ? active : contextOf(api, own);
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...idsOf(own), ...attributes } }, parent);
    const below = { ...own, traceparent: toTraceparent(span) };
    const inside = api.trace.setSpan(parent, span).setValue(inStep, below.traceparent);
    return {
      run: (work) => api.context.with(inside, () => requestContexts.run(below, work)),
      rename: (better) => void span.updateName(better),
      set: (more) => void span.setAttributes(more),
      end: (error) => {
        if (error !== undefined) {
          span.setAttribute('error.type', error);
          span.setStatus({ code: api.SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  };
  return {
    enter,
    begin: (name, options) => (requestContext().traceparent === undefined ? undefined : enter(name, options)),
  };
}

/** A context whose span is the one that the request context names; with none where it names none. */
function contextOf({ trace, createTraceState, ROOT_CONTEXT }: Api, own: RequestContext): Context {
  if (own.traceparent === undefined) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = own.traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...{ traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true },
    ...(own.tracestate === undefined ? {} : { traceState: createTraceState(own.tracestate) }),
  });
}

function toTraceparent(span: OtelSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

const idsOf = ({ requestId, runId, threadId }: RequestContext): Attributes => ({
  ...(requestId !== undefined && { 'agent_workflow.request_id': requestId }),
  ...(runId !== undefined && { 'agent_workflow.run_id': runId }),
  ...(threadId !== undefined && { 'agent_workflow.thread_id': threadId }),
});
