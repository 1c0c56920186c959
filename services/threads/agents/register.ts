import { conflict, invalid } from '@agent-workflow/kit/errors';
import { defaultAgent, hashOfPoolName, isAgentName, isRevision, nameOfPool } from '@agent-workflow/kit/agents';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import { hashOfDefinition, refuseDefinition, requireDefinition } from '@agent-workflow/protos/definition-checks';
import type { RegisterRevisionRequest } from '@agent-workflow/protos/threads';
import type { AgentRow, RevisionRow } from '../ports/agents.ts';
import { isRetired } from './routing.ts';
import { routedTo } from './route.ts';

/** A decision about an agent: the row to write, if anything changes. */
interface AgentDecision {
  /** The row as it is then. */
  readonly row: AgentRow;
  readonly isChanged: boolean;
  /** A revision that makes room for another: its definition is to be dropped. */
  readonly dropped?: RevisionRow | undefined;
}

/**
 * Checks the parts of a registration by themselves.
 * @throws Invalid for what is no name, no hash, too large, or a definition that no reader could use.
 */
export function refuseRegistration(request: RegisterRevisionRequest): void {
  const { agent, description = '', revision, schemaHash, definition } = request;
  if (!isAgentName(agent)) throw invalid(['agent'], 'must be 1 to 63 of a-z, 0-9 and "-", the first a letter');
  if (!isRevision(revision)) throw invalid(['revision'], 'must be 1 to 128 letters, digits or any of ._:@-');
  if (!/^[\da-f]{64}$/.test(schemaHash)) throw invalid(['schemaHash'], 'must be 64 hexadecimal digits');
  refuseOver(Buffer.byteLength(description), sizes.agentDescription, ['description']);
  requireDefinition(definition);
  refuseOver(definition.graphJson.byteLength, sizes.drawing, ['definition', 'graphJson']);
  refuseOver(definition.fieldsJson.byteLength, sizes.drawing, ['definition', 'fieldsJson']);
  refuseOver(definition.toolsJson.byteLength, sizes.toolsTogether, ['definition', 'toolsJson']);
  refuseOver(Buffer.byteLength(JSON.stringify(definition.nodes)), sizes.nodeNames, ['definition', 'nodes']);
  refuseOver(Buffer.byteLength(JSON.stringify(definition.codeFields)), sizes.drawing, ['definition', 'codeFields']);
  if (definition.nodes.length > sizes.nodes)
    throw invalid(
      ['definition', 'nodes'],
      `has ${definition.nodes.length} names, more than ${sizes.nodes}`,
      'too_large',
    );
  refuseDefinition(definition);
  if (schemaHash !== hashOfDefinition(definition)) throw invalid(['schemaHash'], 'is not the hash of the definition');
}

/**
 * Adds a revision to an agent, or finds that it is there. `agents` are all that are registered; they are read for a new revision alone.
 * @throws Conflict when the queue would know it by the name of another one, when the revision is registered otherwise or is retired, when there are too many, and when the routing has another
 * version than the request names.
 */
export function decideRegister(
  request: RegisterRevisionRequest,
  {
    known,
    agents,
    now,
  }: { readonly known: AgentRow | undefined; readonly agents: readonly AgentRow[]; readonly now: number },
): AgentDecision {
  const { agent, description, revision, schemaHash, makeCurrent } = request;
  if (!known && agents.length >= sizes.agents)
    throw conflict(`${String(sizes.agents)} agents are registered, which is the most`);
  const before = known ?? { name: agent, changes: 0, routing: { version: 0, retired: [] }, revisions: [] };
  if (isRetired(before.routing, revision)) throw conflict(`revision "${revision}" of agent "${agent}" is retired`);
  const same = before.revisions.find((row) => row.revision === revision);
  if (same && same.schemaHash !== schemaHash)
    throw conflict(
      `revision "${revision}" of agent "${agent}" is registered with another schema: name this build by another revision`,
    );
  if (!same) refuseSameHash(request, agents);
  const { row: roomy, dropped } = same ? { row: before } : withRoom(before);
  const added = same
    ? roomy
    : { ...roomy, revisions: [...roomy.revisions, { revision, registeredAt: now, schemaHash, wasRouted: false }] };
  const { description: _, ...bare } = added;
  const described = description === undefined ? bare : { ...bare, description };
  const isRouted = makeCurrent !== undefined && added.routing.current !== revision;
  const row = isRouted ? routedTo(described, makeCurrent.version, { current: revision }, now) : described;
  const isChanged = !same || isRouted || known?.description !== description;
  return { row: isChanged ? { ...row, changes: before.changes + 1 } : before, isChanged, dropped };
}

/** Two pools with one hash would share their queue, and the rights of their users on NATS. */
function refuseSameHash({ agent, revision }: RegisterRevisionRequest, agents: readonly AgentRow[]): void {
  const known = [
    defaultAgent,
    ...agents.flatMap((row) => [row.name, ...row.revisions.map((each) => nameOfPool(row.name, each.revision))]),
  ];
  const byHash = new Map(known.map((name) => [hashOfPoolName(name), name]));
  for (const name of [agent, nameOfPool(agent, revision)]) {
    const other = byHash.get(hashOfPoolName(name));
    if (other !== undefined && other !== name)
      throw conflict(
        `"${name}" has the hash of "${other}", by which the queue would take one for the other: choose another name`,
      );
  }
}

/** The agent with room for one more revision: the oldest of the retired ones makes room. */
function withRoom(row: AgentRow): { readonly row: AgentRow; readonly dropped?: RevisionRow } {
  const { name, routing, revisions } = row;
  if (revisions.length < sizes.revisions) return { row };
  const dropped = revisions.find(({ revision }) => isRetired(routing, revision));
  if (!dropped)
    throw conflict(`agent "${name}" has ${String(sizes.revisions)} revisions, which is the most: retire one of them`);
  const without = (revision: string): boolean => revision !== dropped.revision;
  return {
    row: {
      ...row,
      routing: { ...routing, retired: routing.retired.filter(without) },
      revisions: revisions.filter(({ revision }) => without(revision)),
    },
    dropped,
  };
}
