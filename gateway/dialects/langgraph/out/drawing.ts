interface Drawing {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional: boolean }[];
}

/** A graph as LangGraph draws it. */
export const toDrawing = ({ nodes, edges }: Drawing): object => ({
  nodes: nodes.map(({ id, type }) => (type === 'end' ? { id } : { id, type: 'runnable', data: { name: id } })),
  edges: edges.map(({ source, target, conditional }) => ({ source, target, ...(conditional && { conditional }) })),
});
