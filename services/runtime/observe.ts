import { countCalls, createAround, surround, type AroundCall, type PoolBound, type PoolRefusal } from './calls.ts';
import { integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { createHealth, type Health } from './health.ts';
import type { Log } from '@agent-workflow/kit/log';
import { gauge, openRegistry, type Registry } from './metrics.ts';
import { isLoopback } from './loopback.ts';
import { openMetricsPort } from './metrics-port.ts';
import { listenHostOf, type AuthMode } from './service-file.ts';
import { openSpans, type Spans } from './spans.ts';

/** What every process reads about how it is observed. */
export const observeSettings = {
  METRICS_PORT: integer(
    undefined,
    'Port of `/metrics`, `/livez` and `/readyz`; 0 takes a free one; unset, nothing is measured',
    { max: 65_535 },
  ),
  METRICS_HOST: text(
    undefined,
    'Address that this port listens on; unset, that of `HOST` or `GRPC_HOST` where it is a loopback address, `127.0.0.1` in a process that reads `service.json` while `auth` is null, else `0.0.0.0`',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: text(
    undefined,
    'Where a collector takes traces by OTLP over HTTP, as `http://collector:4318`; unset, none are made',
  ),
} satisfies Settings;

export const processMetrics = {
  ready: gauge('agent_workflow_ready', 'Whether the process serves: 1, or 0 while it starts or drains'),
};

/** How one process is observed. Disposal sends the last spans and stops listening. */
interface Observation extends AsyncDisposable {
  /** Absent: nothing is measured. */
  readonly registry: Registry | undefined;
  /** Absent: no traces are made. */
  readonly spans: Spans | undefined;
  /** How the parts do that the process stands on: shown in the log, in metrics, and in the body of `/readyz`. */
  readonly health: Health;
  /** Around each call that the process serves to others. */
  readonly served: AroundCall;
  /** Called for each call that was refused because its caller is not known. */
  readonly onUnknownCaller: () => void;
  /** Called for each call of a pool's worker that was not allowed. */
  readonly onPoolRefusal: (refusal: PoolRefusal) => void;
  /** Called for each call of a pool's worker that was refused for now. */
  readonly onPoolLimited: (bound: PoolBound) => void;
  /** A service of another process, with a span around each call that is made to it. */
  readonly calling: <S extends object>(context: string, service: S) => S;
  /** A service of this same process, with all that is done around calls that are served. */
  readonly inProcess: <S extends object>(context: string, service: S) => S;
  /** From here on the process serves, until what is given is disposed of. */
  readonly serving: () => Disposable;
  /** What is to be printed about it. */
  readonly startLines: readonly string[];
}

interface ObservationOptions {
  readonly service: string;
  readonly values: Values<typeof observeSettings>;
  readonly log: Log;
  /** The address that the process serves its callers at. */
  readonly host: string;
  /** `service.json` of a process that reads it. */
  readonly file?: { readonly auth: AuthMode };
}

/** @throws ConfigError when the collector's address is none, or what is asked for is not installed. */
export async function openObservation({
  service,
  values,
  log,
  host: own,
  file,
}: ObservationOptions): Promise<Observation> {
  await using opened = new AsyncDisposableStack();
  const spans = await openTraces(service, values, log);
  if (spans) opened.use(spans);
  const registry = values.METRICS_PORT === undefined ? undefined : opened.use(await openRegistry());
  const health = createHealth(log, registry);
  let isReady = false;
  registry?.make(processMetrics).ready.collect(() => (isReady ? 1 : 0));
  const counted = registry && countCalls(registry);
  // Who serves this machine alone shows metrics to nobody else.
  const unset = isLoopback(own) ? own : listenHostOf(file?.auth);
  const { METRICS_HOST: host = unset, METRICS_PORT: port = 0 } = values;
  const listening =
    registry &&
    opened.use(await openMetricsPort({ host, port, registry, isReady: () => isReady, degraded: health.degraded }));
  const served = createAround({ kind: 'server', spans, observe: counted?.observe });
  const calls = createAround({ kind: 'client', spans });
  const everything = opened.move();
  return {
    registry,
    spans,
    health,
    served,
    onUnknownCaller: () => counted?.onUnknownCaller(),
    onPoolRefusal: (refusal) => counted?.onPoolRefusal(refusal),
    onPoolLimited: (bound) => counted?.onPoolLimited(bound),
    calling: (context, other) => (spans ? surround(context, other, calls) : other),
    inProcess: (context, own) => ((spans ?? registry) ? surround(context, own, served) : own),
    serving: () => {
      isReady = true;
      return {
        [Symbol.dispose]: () => {
          isReady = false;
        },
      };
    },
    startLines: listening ? [`metrics are at ${listening.url}/metrics${listening.isOpen ? openWords : ''}`] : [],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const openWords = ' on all interfaces, without authentication';

async function openTraces(
  service: string,
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Values<typeof observeSettings>,
  log: Log,
): Promise<Spans | undefined> {
  if (endpoint === undefined) return undefined;
  const onLost = (error: unknown): void => {
    log.warn({ err: error }, 'spans could not be sent; they are lost');
  };
  return openSpans({ service, endpoint, onLost });
}
