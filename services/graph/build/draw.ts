import { END, START } from './names.ts';
import type { Join } from './join.ts';
import type { McpOffer } from './mcp-offer.ts';

interface Parts {
  /** Each is a function, a graph (an object with `nodes`) or a tool node. */
  readonly nodes: ReadonlyMap<string, object>;
  readonly edges: ReadonlyMap<string, readonly string[]>;
  readonly joins: readonly Join[];
  readonly conditional: ReadonlyMap<string, readonly { readonly targets?: readonly string[] }[]>;
}

export interface DrawnEdge {
  readonly source: string;
  readonly target: string;
  readonly conditional: boolean;
}

interface DrawnNode {
  readonly id: string;
  readonly type: string;
}

/** JSON Schemas of what goes into a graph and comes out, of its state and of the config that its nodes read. */
export interface GraphSchemas {
  readonly input?: object;
  readonly output?: object;
  readonly state?: object;
  readonly config?: object;
}

interface DrawnSubgraph {
  /** The names of its fields. */
  readonly fields: readonly string[];
  readonly schemas?: GraphSchemas;
}

/** The structure of a graph as data and as Mermaid text, and what another engine knows beside it. */
export interface Drawing {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  readonly mermaid: string;
  /** The same with sub-graphs in place of their nodes, each one level deeper than the one before. */
  readonly xray?: readonly { readonly nodes: readonly DrawnNode[]; readonly edges: readonly DrawnEdge[] }[];
  readonly schemas?: GraphSchemas;
  /** The fields that the graph takes as input, and those that it gives out, the conversation as `messages`; absent: all. */
  readonly input?: readonly string[];
  readonly output?: readonly string[];
  /** What clients of MCP see of it in place of one tool. */
  readonly mcp?: McpOffer;
  /** By name; one in another is named `outer|inner`. */
  readonly subgraphs?: Readonly<Record<string, DrawnSubgraph>>;
}

/** The structure of a graph as data and as Mermaid text. An edge whose targets are not declared is drawn to every node. */
export function drawGraph({ nodes, edges, joins, conditional }: Parts): Drawing {
  const drawn: DrawnEdge[] = [
    ...[...edges].flatMap(([source, targets]) => targets.map((target) => ({ source, target, conditional: false }))),
    ...joins.flatMap(({ from, to }) => from.map((source) => ({ source, target: to, conditional: false }))),
    ...[...conditional].flatMap(([source, list]) =>
      list.flatMap(({ targets = [...nodes.keys(), END] }) =>
        targets.map((target) => ({ source, target, conditional: true })),
      ),
    ),
  ];
  const ids = [START, ...nodes.keys(), END];
  return drawing(
    ids.map((id) => ({ id, type: typeOf(id, nodes.get(id)) })),
    drawn,
  );
}

/** The drawing of these nodes and edges. */
export const drawing = (nodes: readonly DrawnNode[], edges: readonly DrawnEdge[]): Drawing => ({
  ...{ nodes, edges },
  mermaid: mermaid(
    nodes.map(({ id }) => id),
    edges,
  ),
});

function typeOf(id: string, node: object | undefined): string {
  if (id === START) return 'start';
  if (id === END || !node) return 'end';
  if (typeof node === 'function') return 'node';
  return 'nodes' in node ? 'graph' : 'tools';
}

function mermaid(ids: readonly string[], edges: readonly DrawnEdge[]): string {
  // A node may have any name, but an id in Mermaid may not: so the ids are numbers, and the names are labels.
  const alias = new Map(ids.map((id, index) => [id, `n${String(index)}`]));
  const label = (id: string): string => id.replaceAll('"', '#quot;');
  return [
    'graph TD',
    ...ids.map((id) => `  ${alias.get(id) ?? ''}["${label(id)}"]`),
    ...edges.map(
      ({ source, target, conditional }) =>
        `  ${alias.get(source) ?? ''} ${conditional ? '-.->' : '-->'} ${alias.get(target) ?? ''}`,
    ),
  ].join('\n');
}
