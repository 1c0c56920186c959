import { hash } from 'node:crypto';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';

/** A client tries a request again for so long at most, in milliseconds: twice its own time-out. */
const attemptsMs = 20 * 60 * 1000;

/** By what a request is known when it comes again. */
export const digestOf = (input: unknown): string => hash('sha256', JSON.stringify(input), 'base64url');

/** Whether a client sends the request again by itself: it says so, and has no key. */
export const isSentAgain = ({ header, idempotency }: Pick<EndpointRequest, 'header' | 'idempotency'>): boolean =>
  idempotency.onceKey === undefined && Number(header('x-stainless-retry-count')) > 0;

export interface EarlierPlace {
  /** The thread in which the request goes on. */
  readonly threadId: string | undefined;
  /** The copy of that thread in which it goes on where another has gone on there before. */
  readonly copyId?: string | undefined;
  /** The run whose calls it answers. */
  readonly pendingRunId: string | undefined;
}

/**
 * The run that an earlier attempt at this request has started, whose reply was lost. Looked for where the request goes on: in its thread, or behind the run
 * whose calls it answers.
 */
export const earlierAttempt = async (...asked: Parameters<typeof otherAttempt>): Promise<Run | undefined> =>
  isSentAgain(asked[0]) ? otherAttempt(...asked) : undefined;

/** The same, or where this is the first attempt the run that a later one has started since it came. */
export async function otherAttempt(
  request: EndpointRequest,
  place: () => EarlierPlace | Promise<EarlierPlace>,
  { threads }: Pick<Services, 'threads'>,
): Promise<Run | undefined> {
  const { owner, call, input, idempotency, at } = request;
  if (idempotency.onceKey !== undefined) return undefined;
  const { threadId, copyId, pendingRunId } = await place();
  const digest = digestOf(input);
  const get = async (id: string | undefined): Promise<Run | undefined> =>
    id === undefined ? undefined : undefinedIfNotFound(threads.getRun({ owner, runId: id }, call()));
  const newestIn = async (id: string | undefined): Promise<string | undefined> =>
    id === undefined
      ? undefined
      : (await undefinedIfNotFound(threads.getThread({ owner, threadId: id }, call())))?.runId;
  const isOfRequest = async ({ runId, status, createdAt }: Run): Promise<boolean> => {
    if (status === 'stopped' || status === 'failed' || Date.now() - createdAt > attemptsMs) return false;
    const { requests } = await threads.listRunRequests({ owner, runIds: [runId] }, call());
    const json = requests[0]?.requestJson;
    const kept = json && (JSON.parse(jsonText(json)) as { readonly digest?: unknown; readonly again?: boolean });
    const isOther = isSentAgain(request) || (kept?.again === true && createdAt >= at.getTime());
    return kept?.digest === digest && isOther;
  };
  const run = await get((await get(pendingRunId))?.resumedBy ?? (await newestIn(threadId)));
  if (run && (await isOfRequest(run))) return run;
  const inCopy = await get(await newestIn(copyId));
  return inCopy && (await isOfRequest(inCopy)) ? inCopy : undefined;
}
