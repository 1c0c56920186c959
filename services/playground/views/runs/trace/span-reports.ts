import type { Json } from '@agent-workflow/client';
import type { EventPlace } from '../log/filtered.ts';
import { isObject, type ListedEvent } from '../log/run-log.ts';
import { holdersOf, type SpanNode } from './span-tree.ts';

/** What the code of a node has published of its progress. */
interface Report {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly custom: Json;
  /** The branch that published it, where its node runs in several. */
  readonly branch?: number;
}

/** The events that a span has a part in: those of its step, its node and its branch. None of a takeover. */
export function placeOf(node: SpanNode): EventPlace | undefined {
  const { step, kind } = node.span;
  if (kind === 'takeover') return undefined;
  const path = [...holdersOf(node), node];
  const outer = path.findIndex(({ span }) => span.kind === 'node');
  const found = path[outer];
  if (!found) return { step };
  // Events name no branch of a sub-graph.
  const inner = path.slice(outer + 1).find(({ span }) => span.kind !== 'attempt')?.span;
  const branch = inner?.kind === 'branch' ? inner.branch : undefined;
  return { step, node: found.span.name, ...(branch !== undefined && { branch }) };
}

/**
 * What was reported at the place of a span, the oldest first: the first `most`, and how many there are. Events do not say which tool, try
 * or inner step a report is of: of these it is what was reported while they ran.
 */
export function reportsOf(
  events: readonly ListedEvent[],
  node: SpanNode,
  most: number,
): { readonly reports: readonly Report[]; readonly count: number } {
  const place = placeOf(node);
  const reports: Report[] = [];
  let count = 0;
  if (!place) return { reports, count };
  const [from, to] = isNamed(node, place) ? [-Infinity, Infinity] : [node.startMs, node.endMs ?? Infinity];
  for (const { event, seq, at } of events) {
    if (event.event !== 'on_chain_stream' || event.metadata['step'] !== place.step || at < from || at > to) continue;
    const { data } = event;
    if (!isObject(data) || data['status'] !== 'progress') continue;
    if (place.node !== undefined && data['node'] !== place.node) continue;
    const branch = typeof data['branch'] === 'number' ? data['branch'] : undefined;
    if (place.branch !== undefined && branch !== place.branch) continue;
    count++;
    if (reports.length < most)
      reports.push({ seq, at, custom: data['custom'] ?? null, ...(branch !== undefined && { branch }) });
  }
  return { reports, count };
}

/** Whether events name all that the span is. */
const isNamed = ({ span }: SpanNode, { node, branch }: EventPlace): boolean =>
  node === undefined || (branch === undefined ? span.kind === 'node' && span.name === node : span.kind === 'branch');
