import { isServiceError, unavailable, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { idFrom } from '@agent-workflow/kit/ids';
import { requestContext, toContextHeaders } from '@agent-workflow/kit/request-context';
import { never, type Call, type Replicas } from '@agent-workflow/protos/call';
import type { Execution, RunEvent, StartRequest } from '@agent-workflow/protos/execution';
import type {
  AcceptRunReply,
  AcceptRunRequest,
  RunCalls,
  RunReadCalls,
  ThreadReadCalls,
} from '@agent-workflow/protos/threads';
import { named } from '../record/agents.ts';
import type { KnownAgents, RevisionMeant } from '../record/known-agents.ts';
import type { RunnableRun, RunQueue } from '../ports/queue.ts';
import type { RunLog } from '../ports/log.ts';
import type { RefuseWebhook } from '../webhooks/run-webhook.ts';
import type { Worker } from '../worker/worker.ts';
import type { AgentShape } from '../record/agent-shape.ts';
import { messageField, withFields } from './update-state.ts';
import { refuseTools, toAcceptRequest, traceOfRequest, withFittingTools } from './accept-request.ts';
import type { StartedRuns } from './follow.ts';
import type { FinishStop, RunAside } from './stop.ts';
import { noAgent, requireName } from './agents.ts';

interface StartOptions {
  readonly known: KnownAgents;
  readonly threads: RunCalls & RunReadCalls & ThreadReadCalls;
  readonly queue: RunQueue;
  readonly eventLog: Pick<RunLog, 'canWrite' | 'end'>;
  /** Absent where this replica accepts runs and drives none. */
  readonly worker: Worker | undefined;
  /** Runs that may wait in the queue, of all agents and of one; while so many do, no more are accepted. */
  readonly backlog: { readonly all: number; readonly perAgent: number };
  readonly started: Pick<StartedRuns, 'add'>;
  readonly finishStop: FinishStop;
  readonly runAside: RunAside;
  readonly refuseWebhook: RefuseWebhook;
}

/** Accepts runs. A thread's idle state and a free slot here let the same write claim the run for this replica's worker. */
export function createStart(options: StartOptions): Execution['start'] {
  const { known, threads, queue, eventLog, worker, backlog, started, finishStop, runAside } = options;
  const choose = createChooseAgent(known, threads);

  /** Offers the run to the record for this agent. A run of another agent is not accepted. */
  const offer = async (
    given: StartRequest,
    threadId: string,
    { agent, naming }: ChosenAgent,
    call: Call & { readonly replicas: Replicas },
  ): Promise<AcceptRunReply> => {
    const { owner, runId } = given;
    const request = withFittingTools(agent, given);
    refuseTools(agent, request);
    const accept = { ...toAcceptRequest(agent, request, threadId), ...naming };
    let slot = worker?.reserve({ owner, threadId, runId });
    try {
      const reply = await withFields(
        threads.acceptRun({ ...accept, ...(slot ? { claim: slot.intent } : {}) }, call),
        messageField(
          ['initialState', 'context'],
          accept.messages.length - request.messages.length,
          request.messages.length > 0,
        ),
      );
      if (slot && reply.claimed) {
        slot.run(reply.claimed, call.replicas);
        slot = undefined;
      }
      return reply;
    } finally {
      slot?.release();
    }
  };

  /** The workers of one agent may be unavailable: its runs then take no room from those of other agents. */
  const refuseBacklog = (agent: string | undefined): void => {
    if (agent === undefined || queue.waiting(agent) < backlog.perAgent) return;
    throw unavailable(
      `${String(backlog.perAgent)} runs of the agent "${agent}" wait already, which is the limit of one agent`,
    );
  };

  /** A repeated request finds its run, also where its webhook may not be sent to by now. @throws Invalid */
  const checkWebhook = async (request: StartRequest, call: Call): Promise<void> => {
    const { owner, runId, runIdIsNew, webhookJson, webhookIsChecked } = request;
    if (webhookJson === undefined || webhookIsChecked) return;
    try {
      options.refuseWebhook(webhookJson);
    } catch (error) {
      const known = runIdIsNew ? undefined : await undefinedIfNotFound(threads.getRun({ owner, runId }, call));
      if (!known) throw error;
    }
  };

  return async (request, call) => {
    if (!eventLog.canWrite())
      throw unavailable('the events of runs cannot be written right now, so that no run is accepted');
    if (queue.waiting() >= backlog.all)
      throw unavailable(`${String(backlog.all)} runs wait already, which is the limit`);
    await checkWebhook(request, call);
    const { owner } = request;
    // A repeated request that reaches another replica must name the same thread.
    const threadId = request.threadId ?? idFrom(request.runId, 'thread');
    let agent: string | undefined;
    // The replica of the record that accepts the run knows its thread from then on. For a moment after a change of routing two replicas name
    // different revisions, so a run that is offered again goes to the same one.
    const replicas: Replicas = new Map();
    const reply = await choose({
      ...{ request, call, threadId },
      offer: async (chosen) => {
        agent = chosen.naming.agent;
        refuseBacklog(agent);
        // A caller that leaves does not undo what the record may have accepted: the run is driven all the same.
        return offer(request, threadId, chosen, { deadline: call.deadline, signal: never, replicas });
      },
    });
    if (reply.runnable) void runAside(queue.enqueue(toRunnable(request, reply, agent)));
    started.add(owner, reply.runId);
    if (reply.stoppedRunId !== undefined) {
      worker?.forget(owner, reply.threadId);
      await runAside(finishStop({ owner, runId: reply.stoppedRunId }, call));
    }
    const reports = worker?.reportsOf(reply.runId);
    const ms = reports ? (request.awaitEndMs ?? 0) : 0;
    const end = ms > 0 ? await endSoon(eventLog, { runId: reply.runId, ms }) : undefined;
    return {
      ...{ runId: reply.runId, threadId: reply.threadId, isNewThread: reply.isNewThread, status: reply.status },
      ...(end && { end }),
      // An earlier request may have had the run driven before, with reports of which nothing is known here.
      ...(end && reports && !reports.any && !reports.signal.aborted && !reply.existed && { isSilent: true }),
      ...(reply.existed && { existed: true }),
      ...(reply.createdAt !== undefined && { createdAt: reply.createdAt }),
    };
  };
}

const toRunnable = (
  { owner, priority }: StartRequest,
  { threadId, runId, revision }: Pick<AcceptRunReply, 'threadId' | 'runId' | 'revision'>,
  agent: string | undefined,
): RunnableRun => ({
  owner,
  threadId,
  runId,
  ...named(agent, revision),
  ...(priority === undefined ? {} : { priority }),
  trace: toContextHeaders({ requestId: requestContext().requestId, ...traceOfRequest() }),
});

/** The agent of a run, and how the record is asked to accept the run for it. */
interface ChosenAgent {
  readonly agent: AgentShape;
  readonly naming: Pick<AcceptRunRequest, 'agent' | 'agentIsGuess'>;
}

/** Checks a run by an agent, and offers it to the record for that one. */
type Offer = (agent: ChosenAgent) => Promise<AcceptRunReply>;

/** Offers a run to the record for the agent that it belongs to. @throws NotFound when there is no such agent. */
type ChooseAgent = (offering: Offering) => Promise<AcceptRunReply>;

interface Offering {
  readonly request: StartRequest;
  readonly call: Call;
  /** Also of a thread that the run makes. */
  readonly threadId: string;
  readonly offer: Offer;
}

/** How often a run is offered at most. The second offer succeeds unless the thread or the routing has changed meanwhile again. */
const attempts = 5;

/**
 * A request that names no agent goes to the agent of its thread. That one is read first, and the record has the last word: it knows whether
 * the thread was made, or got its agent, meanwhile. It also knows which revision of a registered agent serves the run.
 */
function createChooseAgent(
  known: KnownAgents,
  threads: Pick<ThreadReadCalls, 'getThread'> & Pick<RunReadCalls, 'listRuns'>,
): ChooseAgent {
  const agentOfThread = async (
    { owner, threadId, threadIdIsNew }: StartRequest,
    call: Call,
  ): Promise<string | undefined> => {
    if (threadId === undefined || threadIdIsNew === true) return undefined;
    return (await undefinedIfNotFound(threads.getThread({ owner, threadId }, call)))?.agent;
  };

  const found = async (name: string | undefined, meant: RevisionMeant): Promise<AgentShape> => {
    const agent = await known.find(name, meant);
    if (!agent) throw noAgent(known, name);
    return agent;
  };

  /** The revision of the run before: an answer goes back to the revision that asked. */
  const revisionBefore = async ({ owner, threadId }: StartRequest, call: Call): Promise<string | undefined> => {
    if (threadId === undefined) return undefined;
    const listed = await undefinedIfNotFound(threads.listRuns({ owner, threadId, limit: 1, offset: 0 }, call));
    return listed?.runs[0]?.revision;
  };

  /**
   * Offers a run whose node the code that is here lacks for the revision that asked, which has it: the answer waits for its workers. The
   * refusal stands when that is the revision of the code, or when the record names another to serve the run.
   */
  const offerToAsking = async (
    { request, call, offer }: Offering,
    { agent: { nodes: _, ...agent }, naming }: ChosenAgent,
    refusal: unknown,
  ): Promise<AcceptRunReply> => {
    const asking = isServiceError(refusal, 'Conflict') ? await revisionBefore(request, call) : undefined;
    if (asking === undefined || asking === known.heldRevision) throw refusal;
    const reply = await offer({ agent: { ...agent, checkedRevision: asking }, naming });
    if (reply.otherRevision !== undefined) throw refusal;
    return reply;
  };

  /**
   * Offers the run for the agent at the revision that serves it. What one revision refuses, another may take: the refusal stands when the
   * record names that revision.
   */
  const offerAtRevision = async (
    offering: Offering,
    name: string | undefined,
    namingOf: (agent: string) => ChosenAgent['naming'],
  ): Promise<AcceptRunReply> => {
    const { request, call, threadId, offer } = offering;
    let refusals: Map<string, unknown> | undefined;
    let meant: RevisionMeant = { thread: { owner: request.owner, threadId } };
    for (let attempt = 0; attempt < attempts; attempt++) {
      const agent = await found(name, meant);
      const { checkedRevision = '' } = agent;
      if (refusals?.has(checkedRevision)) throw refusals.get(checkedRevision);
      const chosen = { agent, naming: namingOf(agent.name) };
      try {
        const reply = await offer(chosen);
        if (reply.otherRevision === undefined) return reply;
        meant = { revision: reply.otherRevision };
      } catch (error) {
        if (agent.checkedRevision === undefined) return await offerToAsking(offering, chosen, error);
        if (!isServiceError(error, 'Invalid')) throw error;
        refusals = (refusals ?? new Map<string, unknown>()).set(checkedRevision, error);
        const before = await revisionBefore(request, call);
        if (before === undefined || refusals.has(before)) throw error;
        meant = { revision: before };
      }
    }
    throw unavailable(`the revision of agent "${name ?? ''}" keeps changing`);
  };

  return async (offering) => {
    const { request, call } = offering;
    const { agent: named } = request;
    if (!known.areNamed) {
      const reply = await offerAtRevision(offering, undefined, () => ({ agentIsGuess: true }));
      if (reply.otherAgent !== undefined) throw noAgent(known, reply.otherAgent);
      return reply;
    }
    if (named !== undefined) {
      requireName(named);
      return offerAtRevision(offering, named, (agent) => ({ agent }));
    }
    let guess = await agentOfThread(request, call);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const reply = await offerAtRevision(offering, guess, (agent) => ({ agent, agentIsGuess: true }));
      if (reply.otherAgent === undefined) return reply;
      guess = reply.otherAgent;
    }
    throw unavailable(`the agent of thread "${request.threadId ?? ''}" keeps changing`);
  };
}

/** The longest that a reply waits, in milliseconds: a call without an answer is made a second time after one second. */
const mostMs = 500;

/** The last event of a run that ends within `ms`; `undefined` when it goes on, or when its log cannot be read now. */
async function endSoon(
  eventLog: Pick<RunLog, 'end'>,
  { runId, ms }: { readonly runId: string; readonly ms: number },
): Promise<RunEvent | undefined> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(goesOn), Math.min(ms, mostMs));
  try {
    return await eventLog.end(runId, waiting.signal);
  } catch {
    // The caller waits by a call of its own, which says what is wrong.
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

const goesOn = new Error('the run goes on');
