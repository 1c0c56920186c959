import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { idFault } from '@agent-workflow/protos/message';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import type { RunOrder } from '../../common/run-order.ts';
import { waitsForOthers, behindAnswers } from '../../common/questions.ts';
import type { Services } from '../../common/services.ts';
import { addedBy, askedIn, pendingIn, toGiven, withoutAnswers, type ReadMessage } from '../messages/conversation.ts';
import { readKept } from './response-facts.ts';

/** The thread of a run, and what it gets of a conversation. */
export interface Place extends Pick<RunOrder, 'messages' | 'resume'> {
  /** Absent: a thread of its own. */
  readonly threadId?: string;
  /** Whether the thread stays when the run has ended. */
  readonly isKept: boolean;
  /** The thread goes on only while this run is its newest; empty: while it has none. */
  readonly newestRunId?: string;
  /** Whether the thread is a copy that was made for this request. */
  readonly isCopy?: boolean;
  /** The run whose result the request gets: no other is started. */
  readonly run?: Run;
}

type Request = Pick<EndpointRequest, 'owner' | 'call' | 'newId'>;
type Threads = Pick<Services, 'threads'>;

/** What a request holds. */
interface Conversation {
  readonly messages: readonly ReadMessage[];
  readonly model: string;
}

/**
 * Where a conversation goes on. Clients send all of it with each request: a thread that is there gets what stands behind the last message of the
 * assistant, and so does the thread of a run that waits for the results of its calls, or for others. What others have answered already is not
 * asked again: a conversation that adds nothing to it gets the result.
 * @throws Invalid where nothing is new
 */
export async function placeOf(
  request: Request,
  { messages, model }: Conversation,
  threadId: string | undefined,
  { threads }: Threads,
): Promise<Place> {
  const fault = threadId === undefined ? undefined : idFault(threadId);
  if (fault) throw invalidAt(['body', 'metadata', 'thread_id'], fault.msg, fault.type);
  const pending = pendingIn(messages);
  const waiting = pending && (await waitingRun(request, pending.runId, { threads }));
  const asking = pending ?? askedIn(messages);
  const others = waiting || !asking ? undefined : await runOfOthers(request, { ...asking, model }, { threads });
  const place = waiting ?? others?.run;
  if (place && (threadId === undefined || threadId === place.threadId)) {
    const added = others ? withoutAnswers(addedBy(messages)) : addedBy(messages);
    const isKept = threadId !== undefined || !(await readKept(place, request.call(), { threads })).isThreadUnkept;
    const run = added.length === 0 && others ? { run: others.latest } : {};
    return { threadId: place.threadId, isKept, ...run, ...toGiven(added, true) };
  }
  if (threadId === undefined) return { isKept: false, ...toGiven(messages, false) };
  const { owner, call } = request;
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
  const added = thread ? addedBy(messages) : messages;
  if (added.length === 0)
    throw invalidAt(['body', 'messages'], 'must end with a message that the thread does not have');
  return { threadId, isKept: true, ...toGiven(added, false) };
}

interface RunOfOthers {
  /** The run that asked. */
  readonly run: Run;
  /** That to which their answers have led. */
  readonly latest: Run;
}

/** The run of this model, if it asked others. */
export async function runOfOthers(
  request: Request,
  { runId, model }: { readonly runId: string; readonly model: string },
  { threads }: Threads,
): Promise<RunOfOthers | undefined> {
  const run = await undefinedIfNotFound(threads.getRun({ owner: request.owner, runId }, request.call()));
  // For another agent than that of the request the caller may not be authorized.
  if (run?.status !== 'interrupted' || run.agent !== model || !waitsForOthers(run)) return undefined;
  return { run, latest: await behindAnswers(run, request, { threads }) };
}

/** The run, if it waits for an answer still, or for the one that this request has given at an earlier attempt. */
export async function waitingRun(
  { owner, call, newId }: Request,
  runId: string,
  { threads }: Threads,
): Promise<Run | undefined> {
  const run = await undefinedIfNotFound(threads.getRun({ owner, runId }, call()));
  if (run?.status !== 'interrupted') return undefined;
  return run.resumedBy === undefined || run.resumedBy === newId('run') ? run : undefined;
}
