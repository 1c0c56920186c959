import type { StartReply } from '@agent-workflow/protos/execution';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import type { RunOrder } from '../../common/run-order.ts';
import type { Services } from '../../common/services.ts';
import { startRun } from '../../common/start-run.ts';
import { toOrder, type Asked } from './asked.ts';
import { keptOf, toKept, type KeptCall } from './kept-call.ts';
import type { Client } from '../wire/client.ts';

/** The request within which a run is started, with the ids that its runs get. */
export type Starting = Omit<EndpointRequest, 'input'>;

interface Start {
  readonly request: Starting;
  /** How long the reply may wait for the end of the run, in milliseconds; absent: not at all. */
  readonly awaitEndMs?: number;
}

const start = (
  order: RunOrder,
  kept: KeptCall,
  { request, awaitEndMs }: Start,
  services: Services,
): Promise<StartReply> =>
  startRun(
    { ...request, input: order },
    { granularity: 'full', terms: { keptRequest: toKept(kept) }, awaitEndMs },
    services,
  );

/** Starts the run of a call. */
export const startCall = (asked: Asked, client: Client, given: Start, services: Services): Promise<StartReply> =>
  start(toOrder(asked, client), keptOf(asked, client), given, services);

/** Starts the run that answers what the run of a call has asked. */
export function answerCall(
  { runId, threadId }: Pick<Run, 'runId' | 'threadId'>,
  answers: Readonly<Record<string, unknown>>,
  kept: KeptCall,
  given: Start,
  services: Services,
): Promise<StartReply> {
  const { asked, can } = kept;
  const { agent, isAgent, method, name, arguments: args } = asked;
  const { newId } = given.request;
  const request = { ...given.request, newId: (what: string) => newId(`${what} after ${runId}`) };
  const order: RunOrder = {
    recursion_limit: 25,
    resume: answers,
    ...(!isAgent && { context: { mcp: { method, name, arguments: args, capabilities: [...can] } } }),
    config: { agent, thread_id: threadId },
  };
  return start(order, kept, { ...given, request }, services);
}
