import type { GrantedRun } from '../grants.ts';
import { mayUse, type Knowledge, type KnowledgeAction } from '../knowledge.ts';
import { ownScope } from '../scopes.ts';
import type { ClaimedRun } from '../threads.ts';

/** What the calls do in the scopes that their requests name, by the calls that a pool may make. */
const actions: Readonly<Record<string, KnowledgeAction>> = {
  'memory.store': 'write',
  'memory.update': 'write',
  'memory.delete': 'write',
  'memory.forget': 'write',
  'memory.search': 'read',
  'memory.list': 'read',
};

/** A request as it names scopes. */
export interface Scoped {
  readonly scope?: string;
  readonly scopes?: readonly string[];
}

/** The first scope of a request that the run of a grant may not use so; `undefined` when there is none. */
export function foreignScope(method: string, { scope, scopes = [] }: Scoped, grant: GrantedRun): string | undefined {
  const action = actions[method];
  if (action === undefined) return undefined;
  return [scope ?? ownScope, ...scopes].find((each) => !mayUse(grant, each, action));
}

const name = Buffer.from('"knowledge":');

/** What the options of a claimed run say that it may do in scopes. They are long, and read only where they say something of it. */
export function knowledgeOfClaimed({ optionsJson }: Pick<ClaimedRun, 'optionsJson'>): Knowledge | undefined {
  const options = Buffer.from(optionsJson.buffer, optionsJson.byteOffset, optionsJson.byteLength);
  if (!options.includes(name)) return undefined;
  return (JSON.parse(options.toString()) as { readonly knowledge?: Knowledge }).knowledge;
}
