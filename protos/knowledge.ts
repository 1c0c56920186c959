import { ownScope, scopeOfAgent } from './scopes.ts';

/** What is done with the memories of a scope. */
export type KnowledgeAction = 'read' | 'write';

/** Whose runs may do something in a scope: `true` those of the owner, whatever their agent; else those of these agents. */
type Runs = true | readonly string[];

/**
 * What a run may do in which scopes, by their names. Who writes also reads. It is decided when the run is started, and kept with it, as
 * the claims of its owner are.
 */
export type Knowledge = Readonly<Record<string, { readonly read?: Runs; readonly write?: Runs }>>;

interface Holder {
  /** Absent: what the operator has declared is not for this run. */
  readonly knowledge?: Knowledge | undefined;
  readonly agent: string;
}

/** Whether a run may do something in a scope. What its owner has and what its agent shares are always open to it. */
export function mayUse({ knowledge, agent }: Holder, scope: string, action: KnowledgeAction): boolean {
  if (scope === ownScope || scope === scopeOfAgent(agent)) return true;
  const rule = knowledge && Object.hasOwn(knowledge, scope) ? knowledge[scope] : undefined;
  return isFor(rule?.write, agent) || (action === 'read' && isFor(rule?.read, agent));
}

/** What of it is for the runs of one agent. */
export function knowledgeOf({ knowledge = {}, agent }: Holder): Knowledge {
  const entries = Object.entries(knowledge).flatMap(([scope, { read, write }]): [string, Knowledge[string]][] => {
    if (isFor(write, agent)) return [[scope, { write: true }]];
    return isFor(read, agent) ? [[scope, { read: true }]] : [];
  });
  return Object.fromEntries(entries);
}

const isFor = (runs: Runs | undefined, agent: string): boolean => runs === true || runs?.includes(agent) === true;
