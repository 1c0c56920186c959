import type { Manifest } from './render.ts';

/** Pods as policies see them. */
export interface Peer {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Number by name. */
  readonly ports: Readonly<Record<string, number>>;
}

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
}

interface PeerRule {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}

interface Rule {
  readonly from?: readonly PeerRule[];
  readonly to?: readonly PeerRule[];
  readonly ports?: readonly { readonly port: number | string }[];
}

interface Policy {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

const policiesOf = (manifests: readonly Manifest[]): readonly (Policy & { readonly namespace: string })[] =>
  manifests
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ spec, metadata }) => ({ ...(spec as Policy), namespace: metadata.namespace ?? 'default' }));

/** Whether a connection from one to a port of the other is let through by the policies of both, as Kubernetes defines it. */
export function letsThrough(
  manifests: readonly Manifest[],
  { from, to, port }: { readonly from: Peer; readonly to: Peer; readonly port: number },
): boolean {
  const policies = policiesOf(manifests);
  const outgoing = policies.filter((policy) => covers(policy, from) && policy.policyTypes.includes('Egress'));
  const incoming = policies.filter((policy) => covers(policy, to) && policy.policyTypes.includes('Ingress'));
  const isPort = ({ ports }: Rule): boolean =>
    ports === undefined || ports.some((allowed) => allowed.port === port || to.ports[allowed.port] === port);
  const leaves = outgoing.flatMap(({ egress = [], namespace }) =>
    egress.filter((rule) => isPort(rule) && names(rule.to, to, namespace)),
  );
  const enters = incoming.flatMap(({ ingress = [], namespace }) =>
    ingress.filter((rule) => isPort(rule) && names(rule.from, from, namespace)),
  );
  return (outgoing.length === 0 || leaves.length > 0) && (incoming.length === 0 || enters.length > 0);
}

/** Whether a policy of each direction is about the pod. */
export function isCovered(manifests: readonly Manifest[], peer: Peer): boolean {
  const types = policiesOf(manifests)
    .filter((policy) => covers(policy, peer))
    .flatMap(({ policyTypes }) => policyTypes);
  return types.includes('Ingress') && types.includes('Egress');
}

const covers = ({ podSelector, namespace }: Policy & { readonly namespace: string }, peer: Peer): boolean =>
  namespace === peer.namespace && selects(podSelector, peer.labels);

/** No list of peers is anyone; a peer without a namespace is one of the policy's own. */
const names = (rules: readonly PeerRule[] | undefined, peer: Peer, own: string): boolean =>
  rules === undefined ||
  rules.some(
    ({ podSelector, namespaceSelector }) =>
      (podSelector === undefined || selects(podSelector, peer.labels)) &&
      (namespaceSelector === undefined
        ? peer.namespace === own
        : selects(namespaceSelector, { 'kubernetes.io/metadata.name': peer.namespace })),
  );

const selects = ({ matchLabels = {} }: Selector, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(matchLabels).every(([label, value]) => labels[label] === value);
