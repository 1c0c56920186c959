import type { Step } from './super-step.ts';

/** The key of a node, a tool call or a sub-graph in a step, the same in every attempt. The branch of a fan-out is a part of it. */
export const keyOf = ({ within, run, number, branch }: Step, what: string): string =>
  `${within ?? run.runId}/${String(number)}/${what}${branch === undefined ? '' : `/${String(branch)}`}`;
