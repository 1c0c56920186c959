import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { AgentCalls, RegisteredAgent } from '@agent-workflow/protos/threads';

/** The revisions of a registered agent and where new runs go, as replies show them. */
export const toRevisions = ({ routing, revisions }: RegisteredAgent): Record<string, unknown> => ({
  routing: {
    version: routing.version,
    current: routing.current ?? null,
    ...(routing.ramping && { ramping: routing.ramping }),
  },
  revisions: revisions.map(({ revision, state, percent, registeredAt }) => ({
    ...{ revision, state, percent },
    registered_at: new Date(registeredAt).toISOString(),
  })),
});

/** A registered agent as the reply to a change of it. */
export const registrationText = (agent: RegisteredAgent): string =>
  JSON.stringify({ name: agent.agent, ...toRevisions(agent) });

/** What is registered of an agent; `undefined` where nothing is. */
export async function registeredAgent(
  threads: Pick<AgentCalls, 'getRegisteredAgent'>,
  agent: string,
  call: Call,
): Promise<RegisteredAgent | undefined> {
  try {
    return await threads.getRegisteredAgent({ agent }, call);
  } catch (error) {
    if (isServiceError(error, 'NotFound')) return undefined;
    throw error;
  }
}
