import { createHash } from 'node:crypto';
import type { RevisionState } from '@agent-workflow/protos/lists';
import type { RegisteredAgent } from '@agent-workflow/protos/threads';
import type { AgentRow, RevisionRow, Routing } from '../ports/agents.ts';
import type { ThreadKey } from '../ports/record.ts';

/** Shares are counted in parts of so many: hundredths of a percent. */
const parts = 10_000;

/**
 * The revision that serves the next run of a thread. A thread is in the share of the ramping revision or it is not, by a hash: it stays in
 * it when the share grows.
 * @returns `undefined` while nothing is routed to: any worker serves the run.
 */
export function revisionFor(routing: Routing | undefined, thread: ThreadKey, agent: string): string | undefined {
  const { current, ramping } = routing ?? {};
  if (ramping && partOf(thread, agent) < ramping.percent * percentParts) return ramping.revision;
  return current;
}

const percentParts = 100;

const partOf = ({ owner, threadId }: ThreadKey, agent: string): number =>
  createHash('sha256')
    .update(JSON.stringify([owner, threadId, agent]))
    .digest()
    .readUInt32BE() % parts;

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
