import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Run, RunReadCalls } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../http/endpoint.ts';

interface First extends Pick<EndpointRequest, 'owner' | 'call'> {
  readonly runId: string;
}

type Reads = Pick<RunReadCalls, 'getRun' | 'listRuns'>;

/** A chain of more runs is read by pages of its thread. */
const mostAlone = 4;

/** Runs of one page. */
const pageRuns = 100;

/**
 * A run and those that follow from it, in order: each answers what the one before it has asked. The last one stands for all of them now. A task of a
 * protocol whose tasks keep their id while they are asked and answered is such a chain, named by its first run.
 * @throws NotFound where the first run is absent
 */
export async function* runChain({ owner, runId, call }: First, threads: Reads): AsyncGenerator<Run> {
  const alone = (id: string): Promise<Run | undefined> =>
    undefinedIfNotFound(threads.getRun({ owner, runId: id }, call()));
  let run: Run | undefined = await threads.getRun({ owner, runId }, call());
  let listed: ReadonlyMap<string, Run> = new Map();
  for (let count = 1; run; count += 1) {
    yield run;
    const next: string | undefined = run.resumedBy;
    if (next === undefined) return;
    if (count === mostAlone) listed = await runsBehind(run, { owner, call }, threads);
    const known = listed.get(next);
    // A list may be older than what a run says of itself.
    run = known?.resumedBy === undefined ? await alone(next) : known;
  }
}

/** The runs of a thread that are newer than this one, by id. */
async function runsBehind(
  { threadId, runId }: Run,
  { owner, call }: Pick<First, 'owner' | 'call'>,
  threads: Reads,
): Promise<ReadonlyMap<string, Run>> {
  const runs = new Map<string, Run>();
  let cursor: string | undefined;
  do {
    const at = cursor === undefined ? {} : { cursor };
    const page = await threads.listRuns({ owner, threadId, limit: pageRuns, offset: 0, ...at }, call());
    for (const run of page.runs) runs.set(run.runId, run);
    ({ cursor } = page);
  } while (cursor !== undefined && !runs.has(runId));
  return runs;
}
