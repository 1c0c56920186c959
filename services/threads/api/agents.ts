import { notFound, unavailable } from '@agent-workflow/kit/errors';
import type { AgentCalls, RegisteredAgent } from '@agent-workflow/protos/threads';
import { decideRegister, refuseRegistration } from '../agents/decisions.ts';
import { decideRetire, decideRoute } from '../agents/decisions.ts';
import { toRegisteredAgent } from '../agents/routing.ts';
import type { Routings } from '../agents/routings.ts';
import { createSharedReads } from '../agents/shared-reads.ts';
import type { AgentRecords, AgentRow } from '../ports/agents.ts';

interface AgentCallsOptions {
  readonly store: AgentRecords;
  readonly routings: Routings;
  readonly now: () => number;
}

/** How often a change of an agent is decided anew because another one came before it. */
const attempts = 10;

/** The calls about registered agents. An agent is changed by reading it, deciding, and writing on condition that it is as it was read. */
export function createAgentCalls({ store, routings, now }: AgentCallsOptions): AgentCalls {
  const getAgent = createSharedReads(store.getAgent);

  const found = async (name: string): Promise<AgentRow> => {
    const row = await getAgent(name);
    if (!row) throw notFound(`agent "${name}" is not registered`);
    return row;
  };

  const untilWritten = async (name: string, attempt: () => Promise<AgentRow | undefined>): Promise<RegisteredAgent> => {
    for (let index = 0; index < attempts; index++) {
      const written = await attempt();
      if (written) return toRegisteredAgent(written);
    }
    throw unavailable(`agent "${name}" changes too often`);
  };

  const change = (name: string, decide: (row: AgentRow) => AgentRow): Promise<RegisteredAgent> =>
    untilWritten(name, async () => {
      const before = await found(name);
      const row = decide(before);
      if (row !== before && !(await store.putAgent(row))) return undefined;
      routings.forget();
      return row;
    });

  return {
    registerRevision: async (request) => {
      refuseRegistration(request);
      const { agent, definition } = request;
      return untilWritten(agent, async () => {
        const known = await getAgent(agent);
        const isThere = known?.revisions.some(({ revision }) => revision === request.revision) === true;
        const agents = isThere ? [] : await store.listAgents();
        const { row, isChanged, dropped } = decideRegister(request, { known, agents, now: now() });
        if (!isChanged) return row;
        // The definition comes first, so that no row names one that is not there.
        await store.putDefinition({ ...request, agent }, definition);
        if (!(await store.putAgent(row))) return undefined;
        routings.forget();
        if (dropped) await store.dropDefinition({ agent, ...dropped });
        return row;
      });
    },

    getRegisteredAgent: async ({ agent }) => toRegisteredAgent(await found(agent)),

    listRegisteredAgents: async () => ({ agents: (await store.listAgents()).map(toRegisteredAgent) }),

    getRevision: async ({ agent, revision: named }) => {
      const { routing, revisions } = await found(agent);
      const revision = named ?? routing.current ?? revisions.at(-1)?.revision;
      const row = revisions.find((one) => one.revision === revision);
      const definition = row && (await store.getDefinition({ agent, ...row }));
      if (!definition) throw notFound(`agent "${agent}" has no revision "${revision ?? ''}"`);
      return definition;
    },

    routeAgent: (request) => change(request.agent, (row) => decideRoute(request, row, now())),

    retireRevision: (request) =>
      change(request.agent, (row) => {
        const retired = decideRetire(request, row);
        if (!retired) throw notFound(`agent "${request.agent}" has no revision "${request.revision}"`);
        return retired;
      }),
  };
}
