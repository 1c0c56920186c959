import { END, START } from './names.ts';
import type { Join } from './join.ts';

interface Parts {
  /** Each is a function, a graph (an object with `nodes`) or a tool node. */
  readonly nodes: ReadonlyMap<string, object>;
  readonly edges: ReadonlyMap<string, readonly string[]>;
  readonly joins: readonly Join[];
  readonly conditional: ReadonlyMap<string, readonly { readonly targets?: readonly string[] }[]>;
}

interface Edge {
  readonly source: string;
  readonly target: string;
  readonly conditional: boolean;
}

/** The structure of a graph as data and as Mermaid text. An edge whose targets are not declared is drawn to every node. */
export function drawGraph({ nodes, edges, joins, conditional }: Parts): {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly Edge[];
  readonly mermaid: string;
} {
  const drawn: Edge[] = [
    ...[...edges].flatMap(([source, targets]) => targets.map((target) => ({ source, target, conditional: false }))),
    ...joins.flatMap(({ from, to }) => from.map((source) => ({ source, target: to, conditional: false }))),
    ...[...conditional].flatMap(([source, list]) =>
      list.flatMap(({ targets = [...nodes.keys(), END] }) =>
        targets.map((target) => ({ source, target, conditional: true })),
      ),
    ),
  ];
  const ids = [START, ...nodes.keys(), END];
  return {
    nodes: ids.map((id) => ({ id, type: typeOf(id, nodes.get(id)) })),
    edges: drawn,
    mermaid: mermaid(ids, drawn),
  };
}

function typeOf(id: string, node: object | undefined): string {
  if (id === START) return 'start';
  if (id === END || !node) return 'end';
  if (typeof node === 'function') return 'node';
  return 'nodes' in node ? 'graph' : 'tools';
}

function mermaid(ids: readonly string[], edges: readonly Edge[]): string {
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
