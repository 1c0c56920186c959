import { buildSteps } from './steps.ts';

/** The agent `steps` with a fan-out after each step of its tools. */
export const graph = buildSteps('check');
