import type { StartReply } from '@agent-workflow/protos/execution';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { RunOrder } from '../../common/run-order.ts';
import type { Services } from '../../common/services.ts';
import { isNewerRun, startRun } from '../../common/start-run.ts';
import { messageKeyed } from '../../../idempotency/index.ts';
import { toOrder, type Asked } from './asked.ts';
import { keptOf, toKept, type KeptCall } from './kept-call.ts';
import type { Client } from '../wire/client.ts';
import { invalidParams } from '../wire/rpc-error.ts';

/** The request within which a run is started, with the ids that its runs get. */
export type Starting = Omit<EndpointRequest, 'input'>;

interface Start {
  readonly request: Starting;
  /** How long the reply may wait for the end of the run, in milliseconds; absent: not at all. */
  readonly awaitEndMs?: number;
  /** The run is accepted only while this is the newest of its thread. */
  readonly newestRunId?: string;
}

const start = (
  order: RunOrder,
  kept: KeptCall,
  { request, awaitEndMs, newestRunId }: Start,
  services: Services,
): Promise<StartReply> =>
  startRun(
    { ...request, input: order },
    { granularity: 'full', terms: { keptRequest: toKept(kept) }, awaitEndMs, newestRunId },
    services,
  );

/** Starts the run of a call. */
export const startCall = (asked: Asked, client: Client, given: Start, services: Services): Promise<StartReply> =>
  start(toOrder(asked, client), keptOf(asked, client), given, services);

/**
 * Starts the run that answers what the run of a call has asked. Of several answers to the same questions the first counts, and the others get its run.
 * @throws RpcError where the thread went on otherwise
 */
export async function answerCall(
  { runId, threadId }: Pick<Run, 'runId' | 'threadId'>,
  answers: Readonly<Record<string, unknown>>,
  kept: KeptCall,
  given: Start,
  services: Services,
): Promise<StartReply> {
  const { asked, can } = kept;
  const { agent, isAgent, method, name, arguments: args } = asked;
  const answered = ['mcp answer', runId, ...Object.keys(answers).sort()];
  const request = messageKeyed({ ...given.request, idempotency: {} }, answered);
  const order: RunOrder = {
    recursion_limit: 25,
    resume: answers,
    ...(!isAgent && { context: { mcp: { method, name, arguments: args, capabilities: [...can] } } }),
    config: { agent, thread_id: threadId },
  };
  try {
    return await start(order, kept, { ...given, request, newestRunId: runId }, services);
  } catch (error) {
    throw isNewerRun(error) ? invalidParams('what was asked has an answer, or was given up') : error;
  }
}
