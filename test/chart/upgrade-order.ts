import { readFile } from 'node:fs/promises';
import { workloadsOf } from './pods.ts';
import { goldenOf, manifestsOf, type Manifest } from './render.ts';
import { scenarios } from './scenarios.ts';

/** How the pods of one Deployment are replaced. */
export interface Roll {
  readonly name: string;
  readonly component: string;
  readonly replicas: number | undefined;
  /** How many pods may be missing meanwhile, and how many more there may be. */
  readonly maxUnavailable: number;
  readonly maxSurge: number;
  /** How long a pod goes on as it is after it was taken out of its Services, until SIGTERM. */
  readonly preStopSeconds: number;
  /** What it is told as DRAIN_SECONDS. */
  readonly drainSeconds: number;
  /** When it is killed, counted from when it was taken out of its Services. */
  readonly graceSeconds: number;
}

/** What `helm upgrade` does, one after the other: the Jobs, each to its end, then all Deployments at once. */
interface Upgrade {
  readonly jobs: readonly string[];
  /** In the order in which Helm changes them. It waits for none before it changes the next. */
  readonly rolls: readonly Roll[];
}

/**
 * What an upgrade of the umbrella chart is, by the render that was looked at: no Helm is needed. With `drainSeconds`, as if every
 * part were given as long to drain.
 */
export async function readUpgrade(drainSeconds?: number): Promise<Upgrade> {
  const small = scenarios.find(({ title }) => title === 'agent-workflow-small');
  if (!small) throw new Error('the chart has no scenario `small`');
  const { jobs, rolls } = upgradeOf(manifestsOf(await readFile(goldenOf(small), 'utf8')));
  if (drainSeconds === undefined) return { jobs, rolls };
  const scaled = rolls.map((roll) => ({
    ...roll,
    drainSeconds,
    graceSeconds: roll.graceSeconds - roll.drainSeconds + drainSeconds,
  }));
  return { jobs, rolls: scaled };
}

/** What Helm does with a render when it upgrades. */
export function upgradeOf(manifests: readonly Manifest[]): Upgrade {
  const jobs = manifests
    .filter(({ kind, metadata }) => kind === 'Job' && isBeforeUpgrade(metadata.annotations))
    .toSorted((a, b) => hookOrderOf(a) - hookOrderOf(b));
  return { jobs: jobs.map(({ metadata }) => metadata.name), rolls: rollsOf(manifests) };
}

type Annotations = Manifest['metadata']['annotations'];

const isBeforeUpgrade = (annotations: Annotations = {}): boolean =>
  annotations['helm.sh/hook']?.split(',').includes('pre-upgrade') === true;

const hookOrderOf = ({ metadata }: Manifest): number => Number(metadata.annotations?.['helm.sh/hook-weight'] ?? 0);

interface Strategy {
  readonly strategy: { readonly rollingUpdate?: { readonly maxUnavailable: number; readonly maxSurge: number } };
}

function rollsOf(manifests: readonly Manifest[]): Roll[] {
  const deployments = manifests.filter(
    ({ kind, metadata }) => kind === 'Deployment' && !metadata.annotations?.['helm.sh/hook'],
  );
  return workloadsOf(deployments).map(({ name, component, replicas, pod }, index) => {
    const [container] = pod.containers;
    const settings = container?.envFrom?.[0]?.configMapRef.name;
    const config = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === settings);
    const { strategy } = deployments[index]?.spec as Strategy;
    // What is recreated is missing until it is back.
    const { maxUnavailable, maxSurge } = strategy.rollingUpdate ?? { maxUnavailable: replicas ?? 1, maxSurge: 0 };
    return {
      ...{ name, component, replicas, maxUnavailable, maxSurge },
      preStopSeconds: container?.lifecycle?.preStop.sleep.seconds ?? 0,
      drainSeconds: Number(config?.data?.['DRAIN_SECONDS']),
      graceSeconds: pod.terminationGracePeriodSeconds ?? 30,
    };
  });
}
