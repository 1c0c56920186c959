import { isServiceError, notFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { isOpen } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { fromKeptResponse, type KeptResponse } from '../out/kept-response.ts';
import { resultIn } from '../out/run-result.ts';
import { statusOf, toResponse, type ResponseFacts } from '../out/response.ts';
import { behindOthers } from './waiting-response.ts';

interface Key {
  readonly owner: string;
  readonly runId: string;
}

interface KnownResponse extends ResponseFacts {
  readonly run: Run;
}

/** What the record has of a response. @throws NotFound */
export async function readFacts(key: Key, call: Call, { threads }: Pick<Services, 'threads'>): Promise<KnownResponse> {
  const [run, kept] = await Promise.all([
    threads.getRun(key, call).catch((error: unknown) => {
      throw isServiceError(error, 'NotFound') ? noResponse() : error;
    }),
    readKept(key, call, { threads }),
  ]);
  return { run, kept };
}

/** What is kept of the request that started a run. */
export async function readKept(
  { owner, runId }: Key,
  call: Call,
  { threads }: Pick<Services, 'threads'>,
): Promise<KeptResponse> {
  const { requests } = await threads.listRunRequests({ owner, runIds: [runId] }, call);
  const [request] = requests;
  return fromKeptResponse(request?.requestJson && (JSON.parse(jsonText(request.requestJson)) as unknown));
}

/** The same of a response that may be read again. @throws NotFound */
export async function readStored(key: Key, call: Call, services: Pick<Services, 'threads'>): Promise<KnownResponse> {
  const facts = await readFacts(key, call, services);
  if (!facts.kept.isStored) throw noResponse();
  return facts;
}

const noResponse = () => notFound('there is no such response');

type Reading = Pick<EndpointRequest, 'owner' | 'roles' | 'call' | 'origin'>;

/** A response as it stands: one that has ended with what came of it, one in the background that asked others with what came of their answers. */
export async function responseText(
  reading: Reading,
  facts: KnownResponse,
  services: Pick<Services, 'threads' | 'execution' | 'config' | 'files' | 'access'>,
): Promise<string> {
  const { owner, call, origin } = reading;
  if (isOpen(facts.run.status)) {
    const shown = facts.run.status === 'queued' ? 'queued' : 'in_progress';
    return JSON.stringify(toResponse(facts, { status: shown }));
  }
  const stands = await behindOthers(reading, facts, services);
  if ('text' in stands) return stands.text;
  const { run } = stands;
  const { runId, threadId } = run;
  const end = await endOfRun({ owner, call, runId, threadId }, services);
  return endedText({ owner, origin }, { facts, end, endedAt: run.updatedAt }, services);
}

interface EndedResponse {
  readonly facts: ResponseFacts;
  /** The last event of its run. */
  readonly end: RunEvent;
  /** In milliseconds since 1970. */
  readonly endedAt: number;
}

/** A response that has ended, with what came of it. */
export function endedText(
  caller: Pick<Reading, 'owner' | 'origin'>,
  { facts, end, endedAt }: EndedResponse,
  services: Pick<Services, 'files'>,
): string {
  const result = resultIn(end, addressesOf(caller, services));
  return JSON.stringify(
    'failure' in result
      ? toResponse(facts, { status: 'failed', failure: result.failure, endedAt })
      : toResponse(facts, { status: statusOf(result), result, endedAt }),
  );
}
