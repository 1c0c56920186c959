import { conflict, invalid } from '@agent-workflow/kit/errors';
import type { RetireRevisionRequest, RouteAgentRequest, RegisterRevisionRequest } from '@agent-workflow/protos/threads';
import type { AgentRow, RevisionRow, Routing } from '../ports/agents.ts';
import { isRetired, isRoutedTo } from './routing.ts';
import { defaultAgent, hashOfPoolName, isAgentName, isRevision, nameOfPool } from '@agent-workflow/kit/agents';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import { hashOfDefinition, refuseDefinition, requireDefinition } from '@agent-workflow/protos/definition-checks';

type Route = Pick<Routing, 'current' | 'ramping'>;

/**
 * Decides which revisions serve new runs. The same request sent again finds what it did before.
 * @param now in milliseconds since 1970
 * @throws Invalid for revisions that cannot be routed to; Conflict on another version.
 */
export function decideRoute({ version, current, ramping }: RouteAgentRequest, row: AgentRow, now: number): AgentRow {
  const { routing } = row;
  const route: Route = { current, ...(ramping ? { ramping } : {}) };
  if (routing.version === version + 1 && isSameRoute(routing, route)) return row;
  refuseUnroutable(row, current, ['current']);
  if (ramping) {
    refuseUnroutable(row, ramping.revision, ['ramping', 'revision']);
    if (ramping.revision === current) throw invalid(['ramping', 'revision'], 'is the current revision already');
    if (!isShare(ramping.percent))
      throw invalid(['ramping', 'percent'], 'must be from 0 to 100, with at most two decimals');
  }
  return { ...routedTo(row, version, route, now), changes: row.changes + 1 };
}

const isSameRoute = (a: Route, b: Route): boolean =>
  a.current === b.current && a.ramping?.revision === b.ramping?.revision && a.ramping?.percent === b.ramping?.percent;

const isShare = (percent: number): boolean => percent >= 0 && percent <= 100 && Number(percent.toFixed(2)) === percent;

function refuseUnroutable({ name, routing, revisions }: AgentRow, revision: string, field: readonly string[]): void {
  if (isRetired(routing, revision)) throw invalid(field, `revision "${revision}" is retired`);
  if (!revisions.some((row) => row.revision === revision))
    throw invalid(field, `agent "${name}" has no revision "${revision}"`);
}

/**
 * The agent with another route, whose version is the next.
 * @throws Conflict when the routing has another version than the caller read.
 */
function routedTo(row: AgentRow, version: number, route: Route, now: number): AgentRow {
  const { name, routing } = row;
  if (routing.version !== version)
    throw conflict(`the routing of agent "${name}" has version ${String(routing.version)}, not ${String(version)}`);
  const next: Routing = { version: version + 1, retired: routing.retired, ...route };
  const revisions = row.revisions.map(({ unroutedAt, ...one }): RevisionRow => {
    if (isRoutedTo(next, one.revision)) return { ...one, wasRouted: true };
    const since = isRoutedTo(routing, one.revision) ? now : unroutedAt;
    return since === undefined ? one : { ...one, unroutedAt: since };
  });
  return { ...row, routing: next, revisions };
}

/**
 * Takes a revision out of use.
 * @returns `undefined` when the agent has no such revision.
 * @throws Conflict while new runs are routed to it.
 */
export function decideRetire({ revision }: RetireRevisionRequest, row: AgentRow): AgentRow | undefined {
  const { name, routing, revisions } = row;
  if (!revisions.some((one) => one.revision === revision)) return undefined;
  if (isRetired(routing, revision)) return row;
  if (isRoutedTo(routing, revision))
    throw conflict(`revision "${revision}" of agent "${name}" serves new runs: route them to another first`);
  return { ...row, routing: { ...routing, retired: [...routing.retired, revision] }, changes: row.changes + 1 };
}

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
