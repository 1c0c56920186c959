/** Where a run enters a graph. */
export const START = '__start__';
/** Where it leaves. */
export const END = '__end__';
