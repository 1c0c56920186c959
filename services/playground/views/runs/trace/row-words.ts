import { counted, duration, grouped } from '../../../ui/format.ts';
import { nameOf, type RowKind } from './row-kind.ts';
import { causeOfNode, statusOfNode, tokensOf, tookMs, type SpanNode } from './span-tree.ts';
import type { TraceRow } from './trace-rows.ts';

/** What a row says: its name, and a note beside it. */
interface RowWords {
  readonly name: string;
  readonly note: string;
}

/** `now` is in milliseconds since 1970. */
export function wordsOf(row: TraceRow, now: number): RowWords {
  const { kind, node, rest, lost } = row;
  if (kind === 'queue') return { name: 'in the queue', note: '' };
  if (kind === 'rest')
    return {
      name: `${grouped(rest.length)} more`,
      note: `median ${duration(median(rest.map((branch) => tookMs(branch, now))))}`,
    };
  if (!node) return { name: `${counted(lost, 'more', 'more')} ${lost === 1 ? 'is' : 'are'} not kept`, note: '' };
  const status = statusOfNode(node);
  const notes = [
    row.isSlowest ? 'slowest' : '',
    noteOf(node, kind),
    status === 'completed' ? '' : statusNote(node, kind),
    node.span.replayed === true ? 'replayed' : '',
  ];
  return { name: nameOf(node, kind), note: notes.filter((each) => each !== '').join(', ') };
}

function noteOf(node: SpanNode, kind: RowKind): string {
  const { children } = node;
  if (kind === 'fan') return branchesNote(children);
  if (kind === 'sub') return `sub-graph, ${counted(children.length, 'step')}`;
  if (kind === 'takeover') return 'its worker was lost';
  if (kind === 'try') return waitNote(node);
  return kind === 'model' || children.length === 0 ? tokensNote(node) : '';
}

function branchesNote(children: readonly SpanNode[]): string {
  const failed = children.filter((child) => statusOfNode(child) === 'failed').length;
  const open = children.filter((child) => statusOfNode(child) === 'running').length;
  return [
    counted(children.length, 'branch', 'branches'),
    failed > 0 ? `${grouped(failed)} failed` : '',
    open > 0 ? `${grouped(open)} running` : '',
  ]
    .filter((each) => each !== '')
    .join(', ');
}

/** How long after the try before it began. */
function waitNote({ span, parent, startMs }: SpanNode): string {
  const before = parent?.children.find(
    (other) => other.span.kind === 'attempt' && other.span.attempt === (span.attempt ?? 1) - 1,
  );
  return before?.endMs === undefined ? '' : `after ${duration(Math.max(0, startMs - before.endMs))}`;
}

function tokensNote({ span, step }: SpanNode): string {
  const tokens = tokensOf(step ?? span);
  return tokens === 0 ? '' : counted(tokens, 'token');
}

function statusNote(node: SpanNode, kind: RowKind): string {
  const status = statusOfNode(node);
  if (status === 'waiting') return 'waits for an answer';
  if (status === 'sleeping') return 'sleeps';
  if (status !== 'failed') return status;
  const tries = node.children.filter((child) => child.span.kind === 'attempt').length;
  if (tries > 1) return `failed after ${grouped(tries)} tries`;
  return kind === 'fan' || node.children.some((child) => statusOfNode(child) === 'failed')
    ? 'failed'
    : (causeOfNode(node) ?? 'failed');
}

/** 0 of none. */
function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
