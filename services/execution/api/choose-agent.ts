import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { Call } from '@agent-workflow/protos/call';
import type { StartRequest } from '@agent-workflow/protos/execution';
import type { AcceptRunReply, AcceptRunRequest, ThreadReadCalls } from '@agent-workflow/protos/threads';
import type { Agent, Agents } from '../record/agents.ts';
import { noAgent, refuseNoName } from './agents.ts';

/** The agent of a run, and how the record is asked to accept the run for it. */
export interface ChosenAgent {
  readonly graph: CompiledGraph;
  readonly naming: Pick<AcceptRunRequest, 'agent' | 'agentIsGuess'>;
}

/** Offers a run to the record for the agent that it belongs to. @throws NotFound when there is no such agent. */
type ChooseAgent = (
  request: StartRequest,
  call: Call,
  offer: (agent: ChosenAgent) => Promise<AcceptRunReply>,
) => Promise<AcceptRunReply>;

/** How often the record may name another agent: once, unless the thread is deleted and made again meanwhile. */
const attempts = 5;

/**
 * A request that names no agent goes to the agent of its thread. That one is read first, and the record has the last word: it knows whether
 * the thread was made, or got its agent, meanwhile.
 */
export function createChooseAgent(agents: Agents, threads: Pick<ThreadReadCalls, 'getThread'>): ChooseAgent {
  const agentOfThread = async (
    { owner, threadId, threadIdIsNew }: StartRequest,
    call: Call,
  ): Promise<string | undefined> => {
    if (threadId === undefined || threadIdIsNew === true) return undefined;
    try {
      return (await threads.getThread({ owner, threadId }, call)).agent;
    } catch (error) {
      if (isServiceError(error, 'NotFound')) return undefined;
      throw error;
    }
  };

  const held = (name: string | undefined): Agent => {
    const agent = agents.find(name);
    if (!agent) throw noAgent(agents, name);
    return agent;
  };

  return async (request, call, offer) => {
    const { agent: named } = request;
    if (!agents.areNamed) {
      const { graph } = held(undefined);
      const reply = await offer({ graph, naming: { agentIsGuess: true } });
      if (reply.otherAgent !== undefined) throw noAgent(agents, reply.otherAgent);
      return reply;
    }
    if (named !== undefined) {
      refuseNoName(named);
      const { name: agent, graph } = held(named);
      return offer({ graph, naming: { agent } });
    }
    let guess = await agentOfThread(request, call);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { name: agent, graph } = held(guess);
      const reply = await offer({ graph, naming: { agent, agentIsGuess: true } });
      if (reply.otherAgent === undefined) return reply;
      guess = reply.otherAgent;
    }
    throw unavailable(`the agent of thread "${request.threadId ?? ''}" keeps changing`);
  };
}
