import type { ExecutionContext, TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';

const { SHAPE: shape } = processEnv();

/** Whether the agents of this run of the suite are in worker pools of their own, as `npm run test:pools` has it. */
const arePools = shape === 'pools';

/** Whether this run of the suite is against a cluster on real servers, as `npm run test:cluster` and `npm run test:pools` have it. */
export const isCluster = shape === 'cluster' || arePools;

type Shape = [
  agent: string | null,
  env?: Readonly<Record<string, string>>,
  service?: Readonly<Record<string, unknown>>,
];

/**
 * Opens the service in the shape that this run of the suite is about: embedded in this process, or as a cluster, with pools or
 * without. `agent` is a file of `test/agents` without its ending; `null`: none is configured. `service` adds to `service.json`.
 */
export async function openShape(...options: Shape): Promise<Embedded> {
  if (!isCluster) return openEmbedded(...options);
  const { openClusterHere, openPoolsHere } = await import('../servers/cluster-here.ts');
  return arePools ? openPoolsHere(...options) : openClusterHere(...options);
}

/** How tests are declared that each ask much: all at once they would only show how slow a machine is with a whole cluster on it. */
export const oneByOne = (test: TestFn): TestFn | TestFn['serial'] => (isCluster ? test.serial : test);

/** Declares a test of the one process with its data folder. A run against a cluster skips it. */
export function embeddedOnly(
  test: TestFn | TestFn['serial'],
  title: string,
  work: (t: ExecutionContext) => Promise<void>,
): void {
  if (isCluster) test.skip(`${title} (embedded only)`, work);
  else test(title, work);
}

/** Declares a test of an agent without a name. In a worker pool every agent has one, under which it is registered. */
export function namelessOnly(test: TestFn, title: string, work: (t: ExecutionContext) => Promise<void>): void {
  if (arePools) test.skip(`${title} (an agent in a worker pool has a name)`, work);
  else test(title, work);
}
