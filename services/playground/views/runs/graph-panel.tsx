import { useState } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { duration, grouped } from '../../ui/format.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { GraphDrawing } from './graph/graph-drawing.tsx';
import { nodeFacts, type NodeFacts } from './graph/node-facts.ts';
import { labelOf, readGraph, type GraphNode, type GraphShape } from './graph/shape.ts';
import type { RunLog } from './log/run-log.ts';

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
      <h2>Graph</h2>
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
