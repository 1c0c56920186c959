import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { fromKeptRequest, type Started } from '../out/kept-request.ts';

/** What the record keeps of the request of a run. */
interface RunRequest {
  readonly started?: Started | undefined;
  /** The assistant that the config of the run names. */
  readonly assistantId?: string | undefined;
}

/** What the record keeps of the requests of these runs, by their ids. */
export async function requestsOf(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  runIds: readonly string[],
  { threads }: Pick<Services, 'threads'>,
): Promise<ReadonlyMap<string, RunRequest>> {
  const { requests } = await threads.listRunRequests({ owner, runIds }, call());
  return new Map(
    requests.map(({ runId, requestJson, assistantId }) => [
      runId,
      { started: requestJson && fromKeptRequest(JSON.parse(jsonText(requestJson))), assistantId },
    ]),
  );
}

/** What frames say of the request of a run. */
export interface AboutRun {
  readonly assistantId: string;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What frames say of the request of a run on record. */
export async function aboutRun(
  request: Pick<EndpointRequest, 'owner' | 'call'>,
  { runId, agent }: Pick<Run, 'runId' | 'agent'>,
  services: Pick<Services, 'threads'>,
): Promise<AboutRun> {
  const { started, assistantId } = (await requestsOf(request, [runId], services)).get(runId) ?? {};
  return {
    assistantId: started?.assistantId ?? assistantId ?? assistantIdOf(agent),
    metadata: started?.body.metadata,
  };
}
