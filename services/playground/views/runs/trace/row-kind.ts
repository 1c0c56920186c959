import type { TraceSpan } from '@agent-workflow/client';
import type { SpanNode } from './span-tree.ts';

/** What a row stands for: `fan` is a node with many branches, `sub` one with a graph in it, `rest` the branches that are not shown. */
export type RowKind = Exclude<TraceSpan['kind'], 'attempt'> | 'try' | 'fan' | 'sub' | 'rest' | 'queue' | 'lost';

export function rowKindOf({ span, children }: SpanNode): RowKind {
  if (span.kind === 'attempt') return 'try';
  if (span.kind !== 'node') return span.kind;
  if (children.some((child) => child.span.kind === 'branch')) return 'fan';
  return children.some((child) => child.span.kind === 'step' || child.step) ? 'sub' : 'node';
}

/** What a span is called. */
export function nameOf({ span, step }: SpanNode, kind: RowKind): string {
  if (kind === 'try') return `try ${String(span.attempt ?? 1)}`;
  if (kind === 'branch') return `${span.name} ${String(span.branch ?? 0)}`;
  if (kind === 'takeover') return 'taken over';
  if (kind === 'model') return span.name === '' ? 'model' : span.name;
  return span.name === '' ? (step?.name ?? span.kind) : span.name;
}
