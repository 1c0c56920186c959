import { isServiceError, unavailable, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { StartRequest } from '@agent-workflow/protos/execution';
import type { AcceptRunReply, AcceptRunRequest, RunReadCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { AgentShape } from '../record/agent-shape.ts';
import type { KnownAgents, RevisionMeant } from '../record/known-agents.ts';
import { noAgent, requireName } from './agents.ts';

/** The agent of a run, and how the record is asked to accept the run for it. */
export interface ChosenAgent {
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
export function createChooseAgent(
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
    const refusals = new Map<string, unknown>();
    let meant: RevisionMeant = { thread: { owner: request.owner, threadId } };
    for (let attempt = 0; attempt < attempts; attempt++) {
      const agent = await found(name, meant);
      const { checkedRevision = '' } = agent;
      if (refusals.has(checkedRevision)) throw refusals.get(checkedRevision);
      const chosen = { agent, naming: namingOf(agent.name) };
      try {
        const reply = await offer(chosen);
        if (reply.otherRevision === undefined) return reply;
        meant = { revision: reply.otherRevision };
      } catch (error) {
        if (agent.checkedRevision === undefined) return await offerToAsking(offering, chosen, error);
        if (!isServiceError(error, 'Invalid')) throw error;
        refusals.set(checkedRevision, error);
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
