import type { GraphSchemas } from './graph-schemas.ts';

interface Lines {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional: boolean }[];
}

/** A graph as the service draws it. */
export interface Drawing extends Lines {
  /** With sub-graphs in place of their nodes, each one level deeper than the one before. */
  readonly xray?: readonly Lines[];
  readonly schemas?: GraphSchemas;
  /** The fields of its input and of its output; absent: all. */
  readonly input?: readonly string[];
  readonly output?: readonly string[];
  /** By name; one in another is named `outer|inner`. */
  readonly subgraphs?: Readonly<
    Record<string, { readonly fields: readonly string[]; readonly schemas?: GraphSchemas }>
  >;
}

/** A graph as LangGraph draws it. `xray` is whether its sub-graphs are shown, or how many levels of them. */
export function toDrawing(drawing: Drawing, xray: boolean | number = false): object {
  const { xray: levels = [] } = drawing;
  const depth = Math.min(typeof xray === 'number' ? xray : xray ? levels.length : 0, levels.length);
  const { nodes, edges } = levels[depth - 1] ?? drawing;
  return {
    nodes: nodes.map(({ id, type }) => (type === 'end' ? { id } : { id, type: 'runnable', data: { name: id } })),
    edges: edges.map(({ source, target, conditional }) => ({ source, target, ...(conditional && { conditional }) })),
  };
}
