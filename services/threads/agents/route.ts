import { conflict, invalid } from '@agent-workflow/kit/errors';
import type { RetireRevisionRequest, RouteAgentRequest } from '@agent-workflow/protos/threads';
import type { AgentRow, RevisionRow, Routing } from '../ports/agents.ts';
import { isRetired, isRoutedTo } from './routing.ts';

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
export function routedTo(row: AgentRow, version: number, route: Route, now: number): AgentRow {
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
