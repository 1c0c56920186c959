import type { TraceSpan } from '@agent-workflow/client';
import { causeOf, type Thrown } from './cause.ts';

/** A span with what ran in it. */
export interface SpanNode {
  readonly span: TraceSpan;
  /** The step whose one node this is: both are one row. */
  readonly step?: TraceSpan;
  readonly parent?: SpanNode;
  readonly children: readonly SpanNode[];
  /** Milliseconds since 1970. */
  readonly startMs: number;
  /** Absent where it is not known, or not yet. */
  readonly endMs?: number;
}

interface Growing extends SpanNode {
  parent?: SpanNode;
  children: Growing[];
}

/** The spans of a run as a tree, in their order. One whose parent is not there stands at the top; nothing stands in itself. */
export function toTree(spans: readonly TraceSpan[]): readonly SpanNode[] {
  const nodes = new Map<string, Growing>();
  const roots: Growing[] = [];
  for (const span of spans) {
    if (nodes.has(span.id)) continue;
    const parent = span.parent_id === null ? undefined : nodes.get(span.parent_id);
    const node: Growing = { span, children: [], ...timesOf(span), ...(parent && { parent }) };
    nodes.set(span.id, node);
    (parent?.children ?? roots).push(node);
  }
  return roots.map(joined);
}

function timesOf({ started_at: start, ended_at: end }: TraceSpan): Pick<SpanNode, 'startMs' | 'endMs'> {
  const startMs = Date.parse(start);
  const endMs = end === null ? NaN : Date.parse(end);
  // The clocks of two workers may differ.
  return { startMs, ...(!Number.isNaN(endMs) && { endMs: Math.max(startMs, endMs) }) };
}

/** A step in which one node ran is one with it. */
function joined(node: Growing): Growing {
  const children = node.children.map(joined);
  const [only] = children;
  if (node.span.kind === 'step' && children.length === 1 && only?.span.kind === 'node' && !only.step) {
    const one: Growing = { ...only, step: node.span, ...spanningBoth(node, only) };
    if (node.parent) one.parent = node.parent;
    else delete one.parent;
    for (const child of one.children) child.parent = one;
    return one;
  }
  const whole: Growing = { ...node, children };
  for (const child of children) child.parent = whole;
  return whole;
}

function spanningBoth(step: SpanNode, node: SpanNode): Pick<SpanNode, 'startMs' | 'endMs'> {
  const startMs = Math.min(step.startMs, node.startMs);
  return step.endMs === undefined ? { startMs } : { startMs, endMs: Math.max(step.endMs, node.endMs ?? 0) };
}

/** By what its row is known, and what an address names. */
export const idOf = ({ span, step }: SpanNode): string => step?.id ?? span.id;

/** Every node of the tree, parents first. */
export function* allOf(nodes: readonly SpanNode[]): Generator<SpanNode> {
  const waiting = [...nodes].reverse();
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    yield node;
    for (let at = node.children.length - 1; at >= 0; at--) {
      const child = node.children[at];
      if (child) waiting.push(child);
    }
  }
}

export function findNode(nodes: readonly SpanNode[], id: string): SpanNode | undefined {
  for (const node of allOf(nodes)) if (node.span.id === id || node.step?.id === id) return node;
  return undefined;
}

/** What it took, in milliseconds; of what runs, until now. */
export const tookMs = ({ span, startMs, endMs }: SpanNode, now: number): number =>
  Math.max(0, (endMs ?? (span.status === 'running' || span.status === 'sleeping' ? now : startMs)) - startMs);

/** A step's status counts where its node is one with it: it knows of an end that the node does not. */
export const statusOfNode = ({ span, step }: SpanNode): TraceSpan['status'] =>
  step && step.status !== 'completed' && span.status !== 'failed' ? step.status : span.status;

/** What its code has thrown, where the service shows it. */
export const thrownOf = ({ span, step }: SpanNode): Thrown | undefined => span.content?.error ?? step?.content?.error;

export const errorOfNode = ({ span, step }: SpanNode): TraceSpan['error'] => span.error ?? step?.error;

/** Why it failed, in words. */
export function causeOfNode(node: SpanNode): string | undefined {
  const [error, thrown] = [errorOfNode(node) ?? thrownOf(node), thrownOf(node)];
  return error && causeOf({ message: error.message, node: node.span.name }, thrown);
}

/** The span to be looked at first: of a run that failed the innermost that failed last, of any other the slowest. */
export function firstChosen(nodes: readonly SpanNode[], isFailed: boolean, now: number): SpanNode | undefined {
  const failed = isFailed ? innermostFailed(nodes) : undefined;
  if (failed) return failed;
  return slowestOf(nodes, now) ?? nodes[0];
}

/** The slowest step, and of what ran in it the innermost that took most of its time. A fan-out shows its slow branches by itself. */
function slowestOf(nodes: readonly SpanNode[], now: number): SpanNode | undefined {
  const [first, ...others] = nodes.filter(({ span }) => span.kind !== 'takeover');
  if (!first) return undefined;
  const slowest = others.reduce((most, node) => (tookMs(node, now) > tookMs(most, now) ? node : most), first);
  if (slowest.children.some(({ span }) => span.kind === 'branch')) return slowest;
  const inside = slowestOf(slowest.children, now);
  return inside && 2 * tookMs(inside, now) >= tookMs(slowest, now) ? inside : slowest;
}

function innermostFailed(nodes: readonly SpanNode[]): SpanNode | undefined {
  const failed = nodes.findLast((node) => statusOfNode(node) === 'failed');
  return failed && (innermostFailed(failed.children) ?? failed);
}

/** What holds a node, from the outside in. */
export function holdersOf(node: SpanNode): readonly SpanNode[] {
  const holders: SpanNode[] = [];
  for (let holder = node.parent; holder; holder = holder.parent) holders.unshift(holder);
  return holders;
}

/** All tokens of a span, and of what ran in it. */
export const tokensOf = ({ usage }: Pick<TraceSpan, 'usage'>): number =>
  (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
