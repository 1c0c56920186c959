import { isServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { CountOpenRunsReply } from '@agent-workflow/protos/execution';
import type { AgentCalls, RegisteredAgent } from '@agent-workflow/protos/threads';
import { loadOf } from './revision-loads.ts';

/** The revisions of a registered agent and where new runs go, as replies show them; with their runs where these are counted. */
export const toRevisions = (
  { agent, routing, revisions }: RegisteredAgent,
  counted?: CountOpenRunsReply,
): Record<string, unknown> => ({
  routing: {
    version: routing.version,
    current: routing.current ?? null,
    ...(routing.ramping && { ramping: routing.ramping }),
  },
  revisions: revisions.map((of) => {
    const { state, openRuns } = loadOf(agent, of, counted);
    return {
      ...{ revision: of.revision, state, percent: of.percent },
      registered_at: new Date(of.registeredAt).toISOString(),
      ...(openRuns === undefined ? {} : { open_runs: openRuns }),
    };
  }),
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
