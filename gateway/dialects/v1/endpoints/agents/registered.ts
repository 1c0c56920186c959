import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { CountOpenRunsReply } from '@agent-workflow/protos/execution';
import { unservedWarning } from '@agent-workflow/protos/routing';
import type { AgentCalls, RegisteredAgent } from '@agent-workflow/protos/threads';
import { loadOf } from './revision-loads.ts';

/** The revisions of a registered agent and where new runs go, as replies show them; with their runs and workers where these are counted. */
export const toRevisions = (
  { agent, routing, revisions }: RegisteredAgent,
  counted?: CountOpenRunsReply,
): Record<string, unknown> => ({
  routing: {
    version: routing.version,
    current: routing.current ?? null,
    ...(routing.ramping && { ramping: routing.ramping }),
  },
  revisions: revisions.map((registered) => {
    const { state, openRuns, workers } = loadOf(agent, registered, counted);
    return {
      ...{ revision: registered.revision, state, percent: registered.percent },
      registered_at: new Date(registered.registeredAt).toISOString(),
      ...(openRuns === undefined ? {} : { open_runs: openRuns }),
      ...(workers === undefined ? {} : { workers }),
    };
  }),
});

/** A registered agent as the reply to a change of it, with its runs and workers where these are counted. */
export function registrationText(agent: RegisteredAgent, counted?: CountOpenRunsReply): string {
  const warnings = unservedRevisions(agent, counted).map(unservedWarning);
  const text = { name: agent.agent, ...toRevisions(agent, counted) };
  return JSON.stringify(warnings.length > 0 ? { ...text, warnings } : text);
}

/** The revisions to which new runs go and that are known to have no worker. */
export const unservedRevisions = (
  { agent, revisions }: RegisteredAgent,
  counted: CountOpenRunsReply | undefined,
): readonly string[] =>
  revisions
    .filter((registered) => registered.percent > 0 && loadOf(agent, registered, counted).workers === 0)
    .map(({ revision }) => revision);

/** What is registered of an agent; `undefined` where nothing is. */
export async function registeredAgent(
  threads: Pick<AgentCalls, 'getRegisteredAgent'>,
  agent: string,
  call: Call,
): Promise<RegisteredAgent | undefined> {
  return undefinedIfNotFound(threads.getRegisteredAgent({ agent }, call));
}
