/** The source of the edges to the first nodes of a graph. */
export const START = '__start__';
/** The target of an edge that ends the graph. */
export const END = '__end__';

/** The name of a node of a sub-graph in the graph around it. */
export const nameWithin = (sub: string, node: string): string => `${sub}/${node}`;
