import { eachOf } from '@agent-workflow/kit/each';
import { refuseMany } from '@agent-workflow/kit/sizes';
import type { ListRunRequestsRequest, RunRequest } from '@agent-workflow/protos/threads';
import { fromJson, toJson } from '../record/json.ts';
import type { ThreadReads } from '../ports/reads.ts';

const mostRuns = 100;
/** Runs that are read at a time: the options of each may take megabytes. */
const atOnce = 4;

/** What the requests of runs said of themselves. @throws Invalid for too many runs */
export async function listRunRequests(
  store: Pick<ThreadReads, 'getRun'>,
  { owner, runIds }: ListRunRequestsRequest,
): Promise<readonly RunRequest[]> {
  refuseMany(runIds.length, mostRuns, ['runIds']);
  const found: RunRequest[] = [];
  await eachOf(runIds, atOnce, async (runId) => {
    const options = (await store.getRun(owner, runId))?.options;
    const requestJson = options && requestIn(options);
    if (requestJson) found.push({ runId, requestJson });
  });
  return found;
}

/** The request that options hold; what cannot be read has none. */
function requestIn(options: Uint8Array): Uint8Array | undefined {
  try {
    const { request } = fromJson(options) as { readonly request?: unknown };
    return typeof request === 'object' && request !== null ? toJson(request) : undefined;
  } catch {
    return undefined;
  }
}
