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
    const request = options && requestIn(options);
    if (request && Object.keys(request).length > 0) found.push({ runId, ...request });
  });
  return found;
}

type Kept = Omit<RunRequest, 'runId'>;

/** The request that options hold, and the assistant that they name; `undefined` for what cannot be read. */
function requestIn(options: Uint8Array): Kept | undefined {
  try {
    const { request, config } = fromJson(options) as { readonly request?: unknown; readonly config?: unknown };
    const { assistant_id: assistantId } = isObject(config) ? config : {};
    return {
      ...(isObject(request) && { requestJson: toJson(request) }),
      ...((typeof assistantId === 'string' || typeof assistantId === 'number') && { assistantId: String(assistantId) }),
    };
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
