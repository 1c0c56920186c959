import { toLayers } from './layers.ts';
import { labelOf, type GraphEdge, type GraphNode, type GraphShape } from './shape.ts';

/** A node with its place. All measures are in pixels; `x` and `y` are its upper left corner. */
export interface PlacedNode extends GraphNode {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An edge as it is drawn. */
interface PlacedEdge extends GraphEdge {
  readonly path: string;
  /** The head of its arrow: the points of a triangle. */
  readonly head: string;
}

interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

const nodeHeight = 38;
const layerGap = 40;
const nodeGap = 28;
const margin = 12;
/** How far apart edges run that lead back. */
const laneGap = 14;
const maxLabel = 24;
/** Around the widest character of the font, so that a label fits its node whatever the font is. */
const characterWidth = 8.5;
const minWidth = 72;

/** A larger graph is not drawn: nobody could follow its edges. */
const maxNodes = 150;
const maxEdges = 800;

/** What takes a place in a layer: a node, or an edge that passes through it. */
interface Item {
  readonly node?: GraphNode;
  readonly width: number;
  readonly layer: number;
  readonly above: Item[];
  readonly below: Item[];
  /** The middle. */
  x: number;
}

/** Places the nodes in layers from top to bottom. `undefined` for a graph that is too large to be drawn. */
export function toLayout(graph: GraphShape): Layout | undefined {
  if (graph.nodes.length > maxNodes || graph.edges.length > maxEdges) return undefined;
  const { layers, down, back } = toLayers(graph);
  const items = new Map(graph.nodes.map((node) => [node.id, itemOf(layers.get(node.id) ?? 0, node)]));
  const chains = down.map((edge) => ({ edge, chain: chainOf(edge, items) }));
  const rows: Item[][] = [];
  const add = (item: Item): void => void (rows[item.layer] ??= []).push(item);
  items.forEach(add);
  for (const { chain } of chains) chain.slice(1, -1).forEach(add);
  order(rows);
  place(rows);
  const right = moveToMargin(rows);
  const at = (id: string): Item => items.get(id) as Item;
  const forward = chains.map(({ edge, chain }) => ({ ...edge, ...downwards(chain) }));
  const backward = back.map((edge, lane) => ({
    ...edge,
    ...backwards(at(edge.source), at(edge.target), right + (lane + 1) * laneGap),
  }));
  return {
    width: Math.ceil(right + back.length * laneGap + margin * 2),
    height: rows.length * (nodeHeight + layerGap) - layerGap + margin * 2,
    nodes: graph.nodes.map((node) => placed(node, at(node.id))),
    edges: [...forward, ...backward],
  };
}

const topOf = ({ layer }: Item): number => margin + layer * (nodeHeight + layerGap);

function placed(node: GraphNode, item: Item): PlacedNode {
  const { width } = item;
  return { ...node, label: shortLabel(node), x: item.x - width / 2, y: topOf(item), width, height: nodeHeight };
}

function shortLabel(node: GraphNode): string {
  const label = labelOf(node);
  return label.length > maxLabel ? `${label.slice(0, maxLabel - 1)}…` : label;
}

function itemOf(layer: number, node?: GraphNode): Item {
  // A count and the sign of a sub-graph stand beside the label.
  const width = node ? Math.max(minWidth, shortLabel(node).length * characterWidth + 36) : 0;
  return { layer, width, above: [], below: [], x: 0, ...(node && { node }) };
}

/** The way of an edge down: its source, an item in each layer between, its target. */
function chainOf({ source, target }: GraphEdge, items: ReadonlyMap<string, Item>): readonly Item[] {
  const [from, to] = [items.get(source) as Item, items.get(target) as Item];
  const between = Array.from({ length: to.layer - from.layer - 1 }, (_, index) => itemOf(from.layer + index + 1));
  const chain = [from, ...between, to];
  chain.forEach((item, index) => {
    const next = chain[index + 1];
    if (!next) return;
    item.below.push(next);
    next.above.push(item);
  });
  return chain;
}

const sweeps = 6;

/** Orders each layer by the places of what it is joined to, so that fewer edges cross. */
function order(rows: readonly Item[][]): void {
  const number = (row: readonly Item[]): void =>
    row.forEach((item, index) => {
      item.x = index;
    });
  rows.forEach(number);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : rows.toReversed()) {
      const wanted = new Map(row.map((item) => [item, meanOf(isDown ? item.above : item.below, item.x)]));
      row.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      number(row);
    }
  }
}

const meanOf = (items: readonly Item[], otherwise: number): number =>
  items.length === 0 ? otherwise : items.reduce((sum, { x }) => sum + x, 0) / items.length;

/** Moves each item towards what it is joined to, as far as its neighbours leave room. */
function place(rows: readonly Item[][]): void {
  for (const row of rows)
    spread(
      row,
      row.map(() => 0),
    );
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : rows.toReversed())
      spread(
        row,
        row.map((item) => meanOf(isDown ? item.above : item.below, item.x)),
      );
  }
}

/** Places a row as near to the wanted places as its order and gaps allow: the mean of pushing it to the right and to the left. */
function spread(row: readonly Item[], wanted: readonly number[]): void {
  const gap = (index: number): number => ((row[index - 1]?.width ?? 0) + (row[index]?.width ?? 0)) / 2 + nodeGap;
  const toRight = [...wanted];
  for (let index = 1; index < row.length; index++)
    toRight[index] = Math.max(toRight[index] ?? 0, (toRight[index - 1] ?? 0) + gap(index));
  const toLeft = [...wanted];
  for (let index = row.length - 2; index >= 0; index--)
    toLeft[index] = Math.min(toLeft[index] ?? 0, (toLeft[index + 1] ?? 0) - gap(index + 1));
  row.forEach((item, index) => {
    item.x = ((toRight[index] ?? 0) + (toLeft[index] ?? 0)) / 2;
  });
}

/** Moves everything to the left margin. @returns the right end. */
function moveToMargin(rows: readonly Item[][]): number {
  const all = rows.flat();
  const left = Math.min(...all.map(({ x, width }) => x - width / 2));
  for (const item of all) item.x += margin - left;
  return Math.max(...all.map(({ x, width }) => x + width / 2));
}

type Drawn = Pick<PlacedEdge, 'path' | 'head'>;
const n = (value: number): string => String(Math.round(value * 10) / 10);

/** The arrow leaves its source below and enters its target from above. */
function downwards(chain: readonly Item[]): Drawn {
  const last = chain.length - 1;
  const points = chain.map((item, index) => {
    if (index === 0) return { x: item.x, y: topOf(item) + nodeHeight };
    return { x: item.x, y: topOf(item) + (index === last ? -headSize : nodeHeight / 2) };
  });
  const path = points.map(({ x, y }, index) => {
    const before = points[index - 1];
    if (!before) return `M${n(x)} ${n(y)}`;
    const middle = (before.y + y) / 2;
    return `C${n(before.x)} ${n(middle)} ${n(x)} ${n(middle)} ${n(x)} ${n(y)}`;
  });
  const { x, y } = points[last] as { readonly x: number; readonly y: number };
  const head = `${n(x - headSize / 2)},${n(y)} ${n(x + headSize / 2)},${n(y)} ${n(x)},${n(y + headSize)}`;
  return { path: path.join(''), head };
}

const headSize = 7;

/** The arrow leaves to the right, runs up in a lane beside all nodes, and enters from the right. One to its own node goes round its corner. */
function backwards(source: Item, target: Item, lane: number): Drawn {
  const [x1, x2] = [source.x + source.width / 2, target.x + target.width / 2 + headSize];
  const isLoop = source === target;
  const y1 = topOf(source) + nodeHeight * (isLoop ? 0.75 : 0.3);
  const y2 = topOf(target) + nodeHeight * (isLoop ? 0.25 : 0.7);
  const reach = isLoop ? x1 + laneGap * 2 : lane;
  const path = `M${n(x1)} ${n(y1)}C${n(reach)} ${n(y1)} ${n(reach)} ${n(y1)} ${n(reach)} ${n((y1 + y2) / 2)}S${n(reach)} ${n(y2)} ${n(x2)} ${n(y2)}`;
  const head = `${n(x2)},${n(y2 - headSize / 2)} ${n(x2)},${n(y2 + headSize / 2)} ${n(x2 - headSize)},${n(y2)}`;
  return { path, head };
}
