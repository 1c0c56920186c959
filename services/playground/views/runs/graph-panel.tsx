import '../../styles/graph.css';
import { useState, useMemo } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { duration, grouped, counted, times } from '../../ui/format.ts';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { nodeFacts, type NodeFacts } from './graph/node-facts.ts';
import { labelOf, readGraph, type GraphNode, type GraphShape } from './graph/shape.ts';
import type { RunLog } from './log/run-log.ts';
import { toLayout, type PlacedNode } from './graph/layout.ts';

interface GraphPanelProps {
  /** Whose graph it is. */
  readonly agent: string | undefined;
  readonly log: RunLog;
  /** Milliseconds since 1970, by the service's clock. */
  readonly now: number;
}

/** The graph of a run's agent with what the run has done in it, as a drawing and as a table. */
export function GraphPanel({ agent, log, now }: GraphPanelProps) {
  const { state, again } = useLoaded(async (signal) => readGraph(await client.graph({ agent, signal })), [agent]);
  const { value, error } = state.value;
  return (
    <section class="graph-panel" aria-label="Graph">
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {value && <GraphOfRun graph={value} facts={nodeFacts(log, now)} />}
    </section>
  );
}

function GraphOfRun({ graph, facts }: { readonly graph: GraphShape; readonly facts: ReadonlyMap<string, NodeFacts> }) {
  const [isOpen, setOpen] = useState(false);
  const nodes = graph.nodes.filter(({ type }) => type !== 'start' && type !== 'end');
  return (
    <>
      <RawOnFault raw={graph}>
        <GraphDrawing graph={graph} facts={facts} />
      </RawOnFault>
      <p class="hint small">A dashed edge is taken when a route says so; a node with a double frame is a sub-graph.</p>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Nodes</summary>
        {isOpen && (
          <table class="small" aria-label="Nodes">
            <thead>
              <tr>
                <th scope="col">Node</th>
                <th scope="col">Kind</th>
                <th scope="col">State</th>
                <th scope="col">Visits</th>
                <th scope="col">Time</th>
              </tr>
            </thead>
            <tbody>
              {nodes.map((node) => (
                <NodeRow key={node.id} node={node} facts={facts.get(node.id)} />
              ))}
            </tbody>
          </table>
        )}
      </details>
    </>
  );
}

function NodeRow({ node, facts }: { readonly node: GraphNode; readonly facts: NodeFacts | undefined }) {
  return (
    <tr>
      <th scope="row">{labelOf(node)}</th>
      <td>{node.type === 'graph' ? 'sub-graph' : node.type}</td>
      <td>{facts?.state ?? 'not visited'}</td>
      <td>{grouped(facts?.visits ?? 0)}</td>
      <td>{facts ? duration(facts.totalMs) : ''}</td>
    </tr>
  );
}

interface GraphDrawingProps {
  readonly graph: GraphShape;
  /** What a run has done in it; none where it is drawn by itself. */
  readonly facts?: ReadonlyMap<string, NodeFacts>;
}

const noFacts: ReadonlyMap<string, NodeFacts> = new Map();

/** The graph as a picture in a box of its own, which scrolls. */
export function GraphDrawing({ graph, facts = noFacts }: GraphDrawingProps) {
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
    ...(facts === noFacts ? [] : [`Visited: ${visited.join('; ') || 'none'}.`]),
    ...(active.length > 0 ? [`Running now: ${active.join(', ')}.`] : []),
  ].join(' ');
}
