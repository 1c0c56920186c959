import type { RevisionState } from '@agent-workflow/protos/lists';
import type { RegisteredAgent } from '@agent-workflow/protos/threads';
import type { AgentRow, RevisionRow, Routing } from '../ports/agents.ts';

const percentParts = 100;

export const isRetired = (routing: Routing | undefined, revision: string): boolean =>
  routing?.retired.includes(revision) === true;

/** Whether new runs may get this revision. */
export const isRoutedTo = ({ current, ramping }: Routing, revision: string): boolean =>
  current === revision || ramping?.revision === revision;

const stateOf = ({ routing }: AgentRow, { revision, wasRouted }: RevisionRow): RevisionState => {
  if (routing.current === revision) return 'current';
  if (routing.ramping?.revision === revision) return 'ramping';
  if (isRetired(routing, revision)) return 'retired';
  return wasRouted ? 'draining' : 'registered';
};

const shareOf = ({ current, ramping }: Routing, revision: string): number => {
  if (ramping?.revision === revision) return ramping.percent;
  return current === revision
    ? (percentParts * percentParts - (ramping?.percent ?? 0) * percentParts) / percentParts
    : 0;
};

/** A registered agent as replies show it. */
export function toRegisteredAgent(row: AgentRow): RegisteredAgent {
  const { name, description, routing, revisions } = row;
  const { version, current, ramping } = routing;
  return {
    agent: name,
    ...(description === undefined ? {} : { description }),
    routing: { version, ...(current === undefined ? {} : { current }), ...(ramping ? { ramping } : {}) },
    revisions: revisions.map((revision) => ({
      revision: revision.revision,
      registeredAt: revision.registeredAt,
      state: stateOf(row, revision),
      schemaHash: revision.schemaHash,
      percent: shareOf(routing, revision.revision),
      ...(revision.unroutedAt === undefined ? {} : { unroutedAt: revision.unroutedAt }),
    })),
  };
}
