import { nameOf, rowKindOf, type RowKind } from './row-kind.ts';
import { causeOfNode, idOf, statusOfNode, tookMs, type SpanNode } from './span-tree.ts';

/** A row of the trace: where it stands. What it says is in `row-words.ts`, and is made when it is drawn. */
export interface TraceRow {
  readonly key: string;
  readonly kind: RowKind;
  /** From 1. */
  readonly level: number;
  /** The row that holds it, by its place; absent at the top. */
  readonly parent: number | undefined;
  /** Absent where it stands for no span. */
  readonly node: SpanNode | undefined;
  /** Absent where nothing is in it. */
  readonly isOpen: boolean | undefined;
  readonly startMs: number;
  /** Until now, where it runs. */
  readonly endMs: number;
  /** Of branches: whether none took longer. */
  readonly isSlowest: boolean;
  /** The branches that it stands for. */
  readonly rest: readonly SpanNode[];
  /** How many spans are not kept, which it stands for. */
  readonly lost: number;
}

/** What a reader wants of a trace. */
interface TraceView {
  /** What was opened or closed by hand, by the ids of rows. */
  readonly folds: ReadonlyMap<string, boolean>;
  /** The span that is chosen: it is shown, whatever it is in. */
  readonly chosen: string | undefined;
  /** A text that names of what is shown contain. */
  readonly wanted: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** When the run was accepted. */
  readonly acceptedMs: number;
}

/** So many branches are shown before the others are put together. */
const maxBranches = 5;
const slowestShown = 2;
const failedShown = 20;
/** A shorter wait in the queue is none, in milliseconds. */
const minWaitMs = 50;

/** The rows of a trace: what is open, in its order. */
export function toRows(nodes: readonly SpanNode[], view: TraceView): readonly TraceRow[] {
  const rows: TraceRow[] = [];
  const { now, folds } = view;
  const wanted = view.wanted.trim().toLowerCase();
  const found = wanted === '' ? undefined : foundIn(nodes, wanted);
  const held = holdersOfChosen(nodes, view.chosen);
  const add = (row: Partial<TraceRow> & Pick<TraceRow, 'key' | 'kind' | 'startMs' | 'endMs'>): number =>
    rows.push({
      key: row.key,
      kind: row.kind,
      level: row.parent === undefined ? 1 : (rows[row.parent]?.level ?? 0) + 1,
      parent: row.parent,
      node: row.node,
      isOpen: row.isOpen,
      startMs: row.startMs,
      endMs: row.endMs,
      isSlowest: row.isSlowest === true,
      rest: row.rest ?? none,
      lost: row.lost ?? 0,
    }) - 1;
  const addNode = (node: SpanNode, parent?: number, isSlowest = false): void => {
    if (found && !found.has(node)) return;
    const key = idOf(node);
    const kind = rowKindOf(node);
    const { startMs } = node;
    const isHolder = node.children.length > 0;
    const isHeld = held.has(node) && key !== view.chosen;
    const isOpen = isHolder ? found !== undefined || (folds.get(key) ?? (isHeld || kind !== 'fan')) : undefined;
    const at = add({ key, kind, parent, node, isOpen, isSlowest, startMs, endMs: startMs + tookMs(node, now) });
    if (isOpen === true && kind === 'fan') addBranches(node, at);
    else if (isOpen === true) for (const child of node.children) addNode(child, at);
    const lost = node.span.omitted ?? node.step?.omitted ?? 0;
    if (lost > 0 && !found) add({ key: `${key} lost`, kind: 'lost', parent: at, startMs, endMs: startMs, lost });
  };
  function addBranches(node: SpanNode, parent: number): void {
    const isWanted = (branch: SpanNode): boolean => held.has(branch) || found?.has(branch) === true;
    const { shown, rest } = partBranches(node.children, now, isWanted);
    for (const [rank, branch] of shown.entries()) addNode(branch, parent, rank === 0);
    if (rest.length === 0 || found) return;
    const key = `${idOf(node)} rest`;
    const isOpen = folds.get(key) ?? false;
    const startMs = Math.min(...rest.map((branch) => branch.startMs));
    const endMs = Math.max(...rest.map((branch) => branch.startMs + tookMs(branch, now)));
    const at = add({ key, kind: 'rest', parent, isOpen, rest, startMs, endMs });
    if (isOpen) for (const branch of rest) addNode(branch, at);
  }
  const [first] = nodes;
  if (first && !found && first.startMs - view.acceptedMs >= minWaitMs)
    add({ key: 'queue', kind: 'queue', startMs: view.acceptedMs, endMs: first.startMs });
  for (const node of nodes) addNode(node);
  return rows;
}

const none: readonly SpanNode[] = [];

/** The branches that are shown by themselves, the slowest first, and the others. */
function partBranches(
  branches: readonly SpanNode[],
  now: number,
  isWanted: (branch: SpanNode) => boolean,
): { readonly shown: readonly SpanNode[]; readonly rest: readonly SpanNode[] } {
  const slowestFirst = [...branches].sort((a, b) => tookMs(b, now) - tookMs(a, now));
  if (branches.length <= maxBranches) return { shown: slowestFirst, rest: [] };
  let failed = 0;
  const shown = new Set(
    slowestFirst.filter(
      (branch, rank) =>
        rank < slowestShown || isWanted(branch) || (statusOfNode(branch) === 'failed' && failed++ < failedShown),
    ),
  );
  const rest = slowestFirst.filter((branch) => !shown.has(branch));
  // One row for one branch would hide it and save nothing.
  return rest.length <= 1 ? { shown: slowestFirst, rest: [] } : { shown: [...shown], rest };
}

/** Nodes whose name or error contains a text, with what holds them. */
function foundIn(nodes: readonly SpanNode[], wanted: string): ReadonlySet<SpanNode> {
  const found = new Set<SpanNode>();
  const visit = (node: SpanNode): boolean => {
    const text = `${nameOf(node, rowKindOf(node))} ${node.span.kind} ${causeOfNode(node) ?? ''}`.toLowerCase();
    // Every child is visited, also behind one that is found.
    const isInside = node.children.filter(visit).length > 0;
    const isFound = isInside || text.includes(wanted);
    if (isFound) found.add(node);
    return isFound;
  };
  for (const node of nodes) visit(node);
  return found;
}

/** The chosen node and all that holds it. */
function holdersOfChosen(nodes: readonly SpanNode[], chosen: string | undefined): ReadonlySet<SpanNode> {
  const held = new Set<SpanNode>();
  if (chosen === undefined) return held;
  const visit = (node: SpanNode): boolean => {
    const isHolder = node.span.id === chosen || node.step?.id === chosen || node.children.some(visit);
    if (isHolder) held.add(node);
    return isHolder;
  };
  nodes.some(visit);
  return held;
}
