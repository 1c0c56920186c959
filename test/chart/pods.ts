import type { Peer } from './network.ts';
import type { Manifest } from './render.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly resources: { readonly requests?: Fields; readonly limits?: Fields };
  readonly securityContext?: Fields;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly startupProbe?: Fields;
  readonly livenessProbe?: Fields;
  readonly readinessProbe?: Fields;
  readonly volumeMounts?: readonly { readonly mountPath: string; readonly name: string }[];
}

interface Pod {
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: Fields;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Fields[];
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly topologySpreadConstraints?: readonly Fields[];
}

/** What makes pods, with the pods that it makes. */
export interface Workload {
  readonly name: string;
  readonly kind: string;
  readonly component: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly replicas: number | undefined;
  readonly pod: Pod;
}

interface Template {
  readonly replicas?: number;
  readonly template: {
    readonly metadata?: {
      readonly labels?: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec: Pod;
  };
}

const makers = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'ReplicaSet']);

export const workloadsOf = (manifests: readonly Manifest[]): readonly Workload[] =>
  manifests
    .filter(({ kind }) => makers.has(kind))
    .map(({ kind, metadata, spec }) => {
      const { replicas, template } = spec as Template;
      const { labels = {}, annotations = {} } = template.metadata ?? {};
      return {
        name: metadata.name,
        kind,
        component: labels['app.kubernetes.io/component'] ?? '',
        namespace: metadata.namespace ?? 'default',
        labels,
        annotations,
        replicas,
        pod: template.spec,
      };
    });

/** The workload's pods, as policies see them. */
export const peerOf = ({ namespace, labels, pod }: Workload): Peer => ({
  namespace,
  labels,
  ports: Object.fromEntries(
    pod.containers.flatMap(({ ports = [] }) => ports.map(({ name, containerPort }) => [name, containerPort])),
  ),
});

export const containersOf = ({ pod }: Workload): readonly Container[] => [
  ...pod.containers,
  ...(pod.initContainers ?? []),
];
