import { notFound, ServiceError } from '@agent-workflow/kit/errors';
import type { Knowledge, KnowledgeAction } from '@agent-workflow/protos/knowledge';
import { ownScope } from '@agent-workflow/protos/scopes';
import { decide, type Caller } from './decide.ts';
import { agentListed, type AccessRules } from './rules.ts';

/**
 * The scope that a caller names, as the memory service takes it: `{}` for their own. One that they may not read is not there for them.
 * @throws NotFound, or PermissionDenied for a scope that they read and may not write
 */
export function openScope(
  rules: AccessRules,
  caller: Caller,
  { scope, action }: { readonly scope: string | undefined; readonly action: KnowledgeAction },
): { readonly scope?: string } {
  if (scope === undefined || scope === ownScope) return {};
  if (decide(rules, caller, { kind: 'knowledge', scope, action })) return { scope };
  if (action === 'write' && decide(rules, caller, { kind: 'knowledge', scope, action: 'read' }))
    throw new ServiceError('PermissionDenied', `the scope "${scope}" may be read, and not written`);
  throw notFound(`scope "${scope}" does not exist`);
}

/** What a run of a caller may do in the scopes that the rules declare: what the caller may, and what the runs of agents may that are listed. */
export function knowledgeOfRun(rules: AccessRules, caller: Caller): Knowledge {
  const runsFor = (scope: string, action: KnowledgeAction): true | readonly string[] => {
    if (decide(rules, caller, { kind: 'knowledge', scope, action })) return true;
    return (rules.knowledge.get(scope)?.[action] ?? []).flatMap((listed) => agentListed(listed) ?? []);
  };
  return Object.fromEntries(
    [...rules.knowledge.keys()].map((scope) => [
      scope,
      { read: runsFor(scope, 'read'), write: runsFor(scope, 'write') },
    ]),
  );
}
