import { ConfigError } from '@agent-workflow/kit/env';
import { defaultAgent, isAgentName } from '@agent-workflow/kit/agents';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ServiceFile } from '@agent-workflow/runtime/service-file';
import { agentListed, levels, noRoles, type AccessRules, type KnowledgeRule, type Level, type Role } from './rules.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Names in one list, and roles or scopes in the file. */
const mostNames = 1000;

/** The members that list roles where `claim` is absent. */
const usualClaims = [['roles'], ['role']];

/**
 * Reads `access` of `service.json`; absent, nobody has a role.
 * @throws ConfigError naming the field that does not hold.
 */
export function readRules(file: Pick<ServiceFile, 'access' | 'auth' | 'agent' | 'agents'>): AccessRules {
  const signsIn = file.auth !== null;
  if (file.access === undefined) return { ...noRoles, signsIn };
  const { claim, roles, knowledge } = fieldsOf('access', file.access, ['claim', 'roles', 'knowledge']);
  const agents = agentsOf(file);
  const known = new Map(membersOf('access.roles', roles).map(([name, role]) => [name, readRole(name, role, agents)]));
  const listable = new Set([...known.keys(), ...levels, '*']);
  return {
    claims: readClaim(claim),
    roles: known,
    knowledge: new Map(
      membersOf('access.knowledge', knowledge, sizes.scopes).map(([name, rule]) => readKnowledge(name, rule, listable)),
    ),
    signsIn,
  };
}

/** The agents of this process; `undefined` where others serve them. */
function agentsOf({ agent, agents }: Pick<ServiceFile, 'agent' | 'agents'>): ReadonlySet<string> | undefined {
  if (agents) return new Set(agents.map(({ name }) => name));
  return agent === undefined ? undefined : new Set([defaultAgent]);
}

function readClaim(claim: unknown): AccessRules['claims'] {
  if (claim === undefined) return usualClaims;
  if (isRoleText(claim)) return [[claim]];
  if (Array.isArray(claim) && claim.length > 0 && claim.length <= 8 && claim.every(isRoleText)) return [claim];
  throw fault('access.claim', 'must be the name of a claim, or the names on the way to one in another', claim);
}

function readRole(name: string, role: unknown, known: ReadonlySet<string> | undefined): Role {
  const field = `access.roles.${name}`;
  if (!isRoleText(name) || name === '*' || agentListed(name) !== undefined)
    throw fault(field, 'must have a name of 1 to 128 visible characters, not "*" or "agent:NAME"', name);
  const { is } = fieldsOf(field, role, ['is', 'agents', 'nodes', 'reads']);
  if (!isLevel(is)) throw fault(`${field}.is`, `must be one of ${levels.join(', ')}`, is);
  if (isLevel(name) && name !== is) throw fault(`${field}.is`, `must be "${name}", as the role has that name`, is);
  switch (is) {
    case 'user':
    case 'admin':
      fieldsOf(field, role, ['is']);
      return { is };
    case 'approver':
      return readApprover(field, role, known);
    case 'operator': {
      const { reads } = fieldsOf(field, role, ['is', 'reads']);
      if (reads !== undefined && reads !== 'contents')
        throw fault(`${field}.reads`, 'must be "contents" or absent', reads);
      return reads === undefined ? { is } : { is, reads };
    }
  }
}

function readApprover(field: string, role: unknown, known: ReadonlySet<string> | undefined): Role {
  const { agents, nodes } = fieldsOf(field, role, ['is', 'agents', 'nodes']);
  const named = agents === undefined ? undefined : textsOf(`${field}.agents`, agents);
  for (const agent of named ?? []) {
    if (!isAgentName(agent) || known?.has(agent) === false)
      throw fault(`${field}.agents`, `must name agents${known ? ` (${[...known].join(', ')})` : ''}`, agent);
  }
  return {
    is: 'approver',
    ...(named && { agents: named }),
    ...(nodes !== undefined && { nodes: textsOf(`${field}.nodes`, nodes) }),
  };
}

/** A scope has the name of what is shared, or `agent:` and the name of an agent. */
function readKnowledge(name: string, rule: unknown, listable: ReadonlySet<string>): readonly [string, KnowledgeRule] {
  const field = `access.knowledge.${name}`;
  if (!isAgentName(agentListed(name) ?? name))
    throw fault(field, 'must have a name of 1 to 63 of a-z, 0-9 and "-", the first a letter, or agent:NAME', name);
  const { read = [], write = [] } = fieldsOf(field, rule, ['read', 'write']);
  const listOf = (list: unknown, action: string): readonly string[] =>
    textsOf(`${field}.${action}`, list).map((listed) => {
      if (listable.has(listed) || isAgentName(agentListed(listed) ?? '')) return listed;
      throw fault(`${field}.${action}`, 'must list names of access.roles, levels, "*" or agent:NAME', listed);
    });
  return [
    agentListed(name) === undefined ? `shared:${name}` : name,
    { read: listOf(read, 'read'), write: listOf(write, 'write') },
  ];
}

const fault = (field: string, rule: string, value: unknown): ConfigError =>
  new ConfigError(`service.json: ${field} ${rule}, not ${shown(value)}`);

function fieldsOf(field: string, value: unknown, known: readonly string[]): Fields {
  if (!isObject(value)) throw fault(field, 'must be an object', value);
  const [unknown] = Object.keys(value).filter((name) => !known.includes(name));
  if (unknown === undefined) return value;
  throw new ConfigError(
    `service.json: ${field} has the unknown key "${unknown}"; the known keys are ${known.join(', ')}`,
  );
}

function membersOf(field: string, value: unknown, most = mostNames): readonly (readonly [string, unknown])[] {
  if (value === undefined) return [];
  if (!isObject(value)) throw fault(field, 'must be an object', value);
  const members = Object.entries(value);
  if (members.length > most) throw fault(field, `must have at most ${String(most)} members`, members.length);
  return members;
}

function textsOf(field: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length <= mostNames && value.every(isRoleText)) return value;
  throw fault(field, `must be a list of at most ${String(mostNames)} names`, value);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Two names must not look alike: none has invisible characters, or space around it. */
/** Whether a value is a text that may name a role. */
export const isRoleText = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length > 0 &&
  value.length <= 128 &&
  value.trim() === value &&
  !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(value);

const isLevel = (value: unknown): value is Level => levels.some((level) => level === value);

const shown = (value: unknown): string => {
  const line = value === undefined ? 'absent' : JSON.stringify(value);
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
};
