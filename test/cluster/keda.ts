import type { Manifest } from '../chart/render.ts';

/** What a ScaledObject says, as far as the charts use it. */
export interface ScaledObject extends Manifest {
  readonly spec: {
    readonly minReplicaCount: number;
    readonly maxReplicaCount: number;
    /** In seconds, as the next. */
    readonly pollingInterval: number;
    readonly cooldownPeriod: number;
    readonly advanced: {
      readonly scalingModifiers: {
        readonly formula: string;
        readonly target: string;
        readonly activationTarget: string;
      };
    };
    readonly triggers: readonly Trigger[];
  };
}

interface Trigger {
  readonly type: string;
  readonly name: string;
  readonly metadata: { readonly url: string; readonly format: string; readonly valueLocation: string };
}

/** How many pods there are, and when runs were seen last, in milliseconds. */
export interface Scale {
  readonly replicas: number;
  readonly activeAt: number;
}

/**
 * The value of one trigger in a page of metrics: the first series of that name that has all labels of the selector. As
 * `getValueFromPrometheusResponse` in `pkg/scalers/metrics_api_scaler.go` of KEDA 2.21.0 does.
 * @throws Error when there is none.
 */
export function valueIn(page: string, valueLocation: string): number {
  const wanted = seriesOf(valueLocation);
  for (const line of page.split('\n')) {
    const end = line.lastIndexOf(' ');
    if (line.startsWith('#') || end < 0) continue;
    const { name, labels } = seriesOf(line.slice(0, end));
    if (name !== wanted.name) continue;
    if ([...wanted.labels].every(([label, value]) => labels.get(label) === value)) return Number(line.slice(end + 1));
  }
  throw new Error(`value ${valueLocation} not found`);
}

function seriesOf(text: string): { readonly name: string; readonly labels: ReadonlyMap<string, string> } {
  const [name = ''] = text.split('{', 1);
  const labels = text.slice(name.length).matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return { name, labels: new Map([...labels].map(([, label = '', value = '']) => [label, value])) };
}

/**
 * Reads all triggers, each from the path of its URL at `origin`, which stands for the Service of the API.
 * @returns the value of the formula, which in the charts is a sum of triggers.
 * @throws Error when a trigger has no value.
 */
export async function readMetric({ spec }: ScaledObject, origin: string, signal: AbortSignal): Promise<number> {
  const values = new Map<string, number>();
  for (const { type, name, metadata } of spec.triggers) {
    if (type !== 'metrics-api' || metadata.format !== 'prometheus') throw new Error(`${name} is of another type`);
    const response = await fetch(new URL(new URL(metadata.url).pathname, origin), { signal });
    if (response.status !== 200) throw new Error(`the API answered ${response.status}`);
    values.set(name, valueIn(await response.text(), metadata.valueLocation));
  }
  return spec.advanced.scalingModifiers.formula.split(' + ').reduce((sum, name) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`the formula names ${name}, which is no trigger`);
    return sum + value;
  }, 0);
}

/**
 * The scale after one poll. From none to one pod, and after the cooldown to the least number, as `RequestScale` and `scaleToZeroOrIdle`
 * in `pkg/scaling/executor/scale_scaledobjects.go` of KEDA 2.21.0 do; between them as its HorizontalPodAutoscaler, which rounds value /
 * target up and takes pods away only after five minutes, which no test lasts.
 */
export function scaleAfter({ spec }: ScaledObject, { replicas, activeAt }: Scale, value: number, now: number): Scale {
  const { target, activationTarget } = spec.advanced.scalingModifiers;
  const { minReplicaCount: least, maxReplicaCount: most, cooldownPeriod } = spec;
  if (value > Number(activationTarget)) {
    const wanted = Math.min(most, Math.ceil(value / Number(target)));
    return { replicas: replicas === 0 ? Math.max(least, 1) : Math.max(replicas, wanted), activeAt: now };
  }
  return { replicas: now - activeAt > cooldownPeriod * 1000 ? least : replicas, activeAt };
}
