import type * as prom from 'prom-client';

type Kind = 'counter' | 'gauge' | 'histogram';

/** The values that a label may have: a closed list, or so many different ones. Any other value is written `other`. */
type LabelBound = readonly string[] | number;

/** One metric as data: what the registry makes of it, and what the documents say. */
interface Metric<K extends Kind = Kind, L extends string = string> {
  readonly kind: K;
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<L, LabelBound>>;
  /** Upper bounds, in the unit that the name ends with. */
  readonly buckets?: readonly number[];
}

export type Metrics = Readonly<Record<string, Metric>>;

const metric =
  <K extends Kind>(kind: K) =>
  <const L extends string = never>(
    name: string,
    help: string,
    labels?: Readonly<Record<L, LabelBound>>,
    buckets?: readonly number[],
  ): Metric<K, L> => ({
    kind,
    name,
    help,
    labels: labels ?? ({} as Record<L, LabelBound>),
    ...(buckets && { buckets }),
  });

export const counter = metric('counter');
export const gauge = metric('gauge');
export const histogram = metric('histogram');

type Labels<L extends string> = Readonly<Record<L, string>>;

interface Counter<L extends string> {
  readonly add: (labels: Labels<L>, by?: number) => void;
  /** Reads the total when metrics are read, for what happens too often to be added one by one. Of a counter without labels. */
  readonly collect: (total: () => number) => void;
}

interface Gauge<L extends string> {
  readonly set: (labels: Labels<L>, value: number) => void;
  readonly add: (labels: Labels<L>, by: number) => void;
  /** Reads the value when metrics are read; `undefined` leaves it as it is, at first absent. Of a gauge without labels. */
  readonly collect: (value: () => number | undefined) => void;
  /** Reads all series when metrics are read: a series that is not among them is absent. */
  readonly collectEach: (series: () => readonly Series<L>[]) => void;
}

/** A value with its labels. */
interface Series<L extends string> {
  readonly labels: Labels<L>;
  readonly value: number;
}

interface Histogram<L extends string> {
  readonly observe: (labels: Labels<L>, value: number) => void;
}

type Instrument<M> =
  M extends Metric<infer K, infer L>
    ? { readonly counter: Counter<L>; readonly gauge: Gauge<L>; readonly histogram: Histogram<L> }[K]
    : never;

export type Instruments<M extends Metrics> = { readonly [Name in keyof M]: Instrument<M[Name]> };

/** The metrics of one process, under the names that monitoring reads. */
export interface Registry {
  /** Makes each metric; to be called once for each. */
  readonly make: <M extends Metrics>(metrics: M) => Instruments<M>;
  /** All of them in the text format of Prometheus. */
  readonly read: () => Promise<{ readonly type: string; readonly text: string }>;
  /** The process measures itself no longer. */
  readonly [Symbol.dispose]: () => void;
}

type Prometheus = typeof prom;

/** A registry that also has what the process says of itself: CPU, memory, event loop. The client is loaded here. */
export async function openRegistry(): Promise<Registry> {
  const prometheus = await import('prom-client');
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  return {
    make: <M extends Metrics>(metrics: M) =>
      Object.fromEntries(
        Object.entries(metrics).map(([key, made]) => [key, makers[made.kind](prometheus, registry, made)]),
      ) as Instruments<M>,
    read: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    [Symbol.dispose]: () => registry.clear(),
  };
}

type PrometheusRegistry = InstanceType<Prometheus['Registry']>;
type Make<I> = (prometheus: Prometheus, registry: PrometheusRegistry, made: Metric) => I;

const common = (registry: PrometheusRegistry, { name, help, labels }: Metric) => ({
  name,
  help,
  labelNames: Object.keys(labels),
  registers: [registry],
});

const makeCounter: Make<Counter<string>> = (prometheus, registry, made) => {
  let source: (() => number) | undefined;
  const one: InstanceType<Prometheus['Counter']> = new prometheus.Counter({
    ...common(registry, made),
    collect: () => {
      if (!source) return;
      one.reset();
      one.inc(source());
    },
  });
  const bound = createBound(made);
  return {
    add: (labels, by = 1) => one.inc(bound(labels), by),
    collect: (total) => {
      source = total;
    },
  };
};

const makeGauge: Make<Gauge<string>> = (prometheus, registry, made) => {
  let source: (() => number | undefined) | undefined;
  let each: (() => readonly Series<string>[]) | undefined;
  const bound = createBound(made);
  const one: InstanceType<Prometheus['Gauge']> = new prometheus.Gauge({
    ...common(registry, made),
    collect: () => {
      const value = source?.();
      if (value !== undefined) one.set(value);
      if (!each) return;
      one.reset();
      for (const series of each()) one.inc(bound(series.labels), series.value);
    },
  });
  return {
    set: (labels, value) => one.set(bound(labels), value),
    add: (labels, by) => one.inc(bound(labels), by),
    collect: (value) => {
      source = value;
      // It begins at 0, which nobody has said.
      one.remove();
    },
    collectEach: (series) => {
      each = series;
    },
  };
};

const makeHistogram: Make<Histogram<string>> = (prometheus, registry, made) => {
  const buckets = made.buckets && { buckets: [...made.buckets] };
  const one = new prometheus.Histogram({ ...common(registry, made), ...buckets });
  const bound = createBound(made);
  return { observe: (labels, value) => one.observe(bound(labels), value) };
};

const makers = { counter: makeCounter, gauge: makeGauge, histogram: makeHistogram };

/** What stands for a label's value that is one too many, or not in its list. */
const other = 'other';

/** Holds labels to their bounds: whatever comes in, the number of series stays what the definition says. */
function createBound({ labels: bounds }: Metric): (labels: Labels<string>) => Record<string, string> {
  const entries = Object.entries(bounds).map(([name, bound]) => [name, createAllow(bound)] as const);
  return (labels) => {
    // Without a prototype: prom-client takes what code of an agent has added to that of all objects for labels, and throws.
    const own = Object.create(null) as Record<string, string>;
    for (const [name, allow] of entries) own[name] = allow(labels[name] ?? '');
    return own;
  };
}

function createAllow(bound: LabelBound): (value: string) => string {
  if (typeof bound !== 'number') {
    const list = new Set(bound);
    return (value) => (list.has(value) ? value : other);
  }
  const seen = new Set<string>();
  return (value) => {
    if (!seen.has(value) && seen.size >= bound) return other;
    seen.add(value);
    return value;
  };
}
