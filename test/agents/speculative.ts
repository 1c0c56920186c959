import { buildSteps } from './steps.ts';

/** The agent `metered`, whose steps begin while the one before is being committed. */
export const graph = buildSteps('check', { speculative: true });
