import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Run, RunReadCalls } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';

interface First extends Pick<EndpointRequest, 'owner' | 'call'> {
  readonly runId: string;
}

/**
 * A run and those that follow from it, in order: each answers what the one before it has asked. The last one stands for all of them now. A task of a
 * protocol whose tasks keep their id while they are asked and answered is such a chain, named by its first run.
 * @throws NotFound where the first run is absent
 */
export async function* runChain(
  { owner, runId, call }: First,
  threads: Pick<RunReadCalls, 'getRun'>,
): AsyncGenerator<Run> {
  let run: Run | undefined = await threads.getRun({ owner, runId }, call());
  while (run) {
    yield run;
    const next: string | undefined = run.resumedBy;
    run = next === undefined ? undefined : await undefinedIfNotFound(threads.getRun({ owner, runId: next }, call()));
  }
}
