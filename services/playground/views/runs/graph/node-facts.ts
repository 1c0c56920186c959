import type { RunLog, VisitState } from '../log/run-log.ts';

/** What a run has done in one node. */
export interface NodeFacts {
  readonly visits: number;
  /** That of its last visit. */
  readonly state: VisitState;
  /** The time of all its visits, in milliseconds. */
  readonly totalMs: number;
}

/** The nodes that a run has come to; `now` in milliseconds since 1970. */
export function nodeFacts({ visits }: Pick<RunLog, 'visits'>, now: number): ReadonlyMap<string, NodeFacts> {
  const facts = new Map<string, NodeFacts>();
  for (const { node, state, startedAt, endedAt } of visits) {
    const before = facts.get(node);
    const ms = Math.max(0, (endedAt ?? now) - startedAt);
    facts.set(node, { visits: (before?.visits ?? 0) + 1, state, totalMs: (before?.totalMs ?? 0) + ms });
  }
  return facts;
}
