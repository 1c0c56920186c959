/** Where a run enters a graph. */
export const START = '__start__';
/** Where it leaves. */
export const END = '__end__';

/** What a node of a sub-graph is called outside of it. */
export const nameWithin = (sub: string, node: string): string => `${sub}/${node}`;
