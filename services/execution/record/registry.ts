import { within } from '@agent-workflow/protos/call';
import type { AgentCalls, RegisteredAgent } from '@agent-workflow/protos/threads';

/** The registered agents as the last sweep read them: one read serves all that a sweep does and counts. */
export interface Registry {
  /** Reads them anew. Never rejects: while the record does not answer, they stay as they were. */
  readonly read: () => Promise<readonly RegisteredAgent[]>;
  readonly last: () => readonly RegisteredAgent[];
}

const callTimeoutMs = 5000;

export function createRegistry(threads: Pick<AgentCalls, 'listRegisteredAgents'>): Registry {
  let agents: readonly RegisteredAgent[] = [];
  return {
    read: async () => {
      try {
        ({ agents } = await threads.listRegisteredAgents({}, within(callTimeoutMs)));
      } catch {
        // What is done with them can wait for the next sweep.
      }
      return agents;
    },
    last: () => agents,
  };
}
