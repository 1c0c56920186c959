import { buildSteps, pureNote } from './steps.ts';

/** The agent `metered`, the steps of whose tools are committed together with the steps that called them. */
export const graph = buildSteps('check', {}, pureNote);
