import { useMemo } from 'preact/hooks';
import { counted, times } from '../../../ui/format.ts';
import { toLayout, type PlacedNode } from './layout.ts';
import type { NodeFacts } from './node-facts.ts';
import { labelOf, type GraphShape } from './shape.ts';

interface GraphDrawingProps {
  readonly graph: GraphShape;
  readonly facts: ReadonlyMap<string, NodeFacts>;
}

/** The graph as a picture in a box of its own, which scrolls. */
export function GraphDrawing({ graph, facts }: GraphDrawingProps) {
  const layout = useMemo(() => toLayout(graph), [graph]);
  if (!layout) return <p class="hint">The graph has too many nodes or edges to be drawn. The table lists its nodes.</p>;
  const { width, height, nodes, edges } = layout;
  return (
    <div class="graph-box" tabIndex={0} role="region" aria-label="Drawing of the graph">
      <svg
        role="img"
        aria-label={describe(graph, facts)}
        width={width}
        height={height}
        style={{ minWidth: `${String(width * minScale)}px` }}
        viewBox={`0 0 ${String(width)} ${String(height)}`}
      >
        {edges.map(({ source, target, conditional, path, head }) => (
          <g key={`${source} ${target}`} class={`edge ${conditional ? 'edge-conditional' : ''}`}>
            <path d={path} />
            <polygon points={head} />
          </g>
        ))}
        {nodes.map((node) => (
          <DrawnNode key={node.id} node={node} facts={facts.get(node.id)} />
        ))}
      </svg>
    </div>
  );
}

/** A drawing that is wider than its box shrinks so far, and scrolls beyond. */
const minScale = 0.85;

/** How far the inner frame of a sub-graph stands from its outer one. */
const frameGap = 3;

function DrawnNode({ node, facts }: { readonly node: PlacedNode; readonly facts: NodeFacts | undefined }) {
  const { x, y, width, height, type, label } = node;
  const isTerminal = type === 'start' || type === 'end';
  const radius = isTerminal ? height / 2 : 7;
  return (
    <g class={`node node-${isTerminal ? 'terminal' : (facts?.state ?? 'unvisited')}`}>
      <title>{labelOf(node)}</title>
      <rect x={x} y={y} width={width} height={height} rx={radius} />
      {type === 'graph' && (
        <rect
          x={x + frameGap}
          y={y + frameGap}
          width={width - 2 * frameGap}
          height={height - 2 * frameGap}
          rx={radius - frameGap}
        />
      )}
      <text x={x + (width - (facts ? 22 : 0)) / 2} y={y + height / 2}>
        {label}
      </text>
      {facts && (
        <text class="node-visits" x={x + width - 8} y={y + height / 2}>
          ×{facts.visits}
        </text>
      )}
    </g>
  );
}

/** What the drawing shows, in words. */
function describe({ nodes, edges }: GraphShape, facts: ReadonlyMap<string, NodeFacts>): string {
  const visited = nodes.flatMap((node) => {
    const known = facts.get(node.id);
    return known ? [`${labelOf(node)} ${times(known.visits)}, ${known.state}`] : [];
  });
  const active = nodes.filter(({ id }) => facts.get(id)?.state === 'running').map(labelOf);
  return [
    `Graph of ${counted(nodes.length, 'node')} and ${counted(edges.length, 'edge')}.`,
    `Visited: ${visited.join('; ') || 'none'}.`,
    ...(active.length > 0 ? [`Running now: ${active.join(', ')}.`] : []),
  ].join(' ');
}
