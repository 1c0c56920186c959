import type { Step } from './super-step.ts';

/** The key of a node, a tool call or a sub-graph in a step, the same in every attempt. The branch of a fan-out is a part of it. */
export const keyOf = ({ within, run, number, keys, branch }: Step, what: string): string =>
  `${within ?? keys?.run ?? run.runId}/${String(within === undefined && keys ? keys.from + number : number)}/${what}${branch === undefined ? '' : `/${String(branch)}`}`;
