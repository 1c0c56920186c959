import type { ExecutionContext, TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';

/** Whether this run of the suite is against a cluster on real servers, as `npm run test:cluster` has it. */
export const isCluster = processEnv()['SHAPE'] === 'cluster';

/** How many processes of a kind the service has, each of which keeps to itself what is not shared. */
export const replicas = isCluster ? 2 : 1;

/**
 * Opens the service in the shape that this run of the suite is about: embedded in this process, or as a cluster. `agent` is a
 * file of `test/agents` without its ending; `null`: none is configured. `service` adds to `service.json`.
 */
export async function openShape(...options: Parameters<typeof openEmbedded>): Promise<Embedded> {
  if (!isCluster) return openEmbedded(...options);
  const { openClusterHere } = await import('../servers/cluster-here.ts');
  return openClusterHere(...options);
}

/** How tests are declared that each ask much: all at once they would only show how slow a machine is with a whole cluster on it. */
export const oneByOne = (test: TestFn): TestFn | TestFn['serial'] => (isCluster ? test.serial : test);

/** Declares a test of the one process with its data folder. A run against a cluster skips it. */
export function embeddedOnly(test: TestFn, title: string, work: (t: ExecutionContext) => Promise<void>): void {
  if (isCluster) test.skip(`${title} (embedded only)`, work);
  else test(title, work);
}
