import type { AccessRules, Role } from './rules.ts';

/** Who may do what beside their own things, as lines for the start; none where the rules name no role and no knowledge. */
export function summaryOf({ roles, knowledge, claims, signsIn }: AccessRules): readonly string[] {
  if (roles.size === 0 && knowledge.size === 0) return [];
  if (!signsIn) return ['access: counts for nobody, as nobody signs in'];
  const named = [...roles].map(([name, role]) => `${name} (${describe(role)})`);
  const paths = claims.map((path) => path.join('.')).join(' or ');
  const shared = knowledge.size === 0 ? '' : `; knowledge: ${[...knowledge.keys()].join(', ')}`;
  return [`access: ${roles.size === 0 ? 'no role' : `${named.join(', ')}, by claim ${paths}`}${shared}`];
}

function describe(role: Role): string {
  switch (role.is) {
    case 'user':
    case 'admin':
      return role.is;
    case 'approver':
      return `approver of ${role.agents?.join(', ') ?? 'all agents'}${role.nodes ? ` at ${role.nodes.join(', ')}` : ''}`;
    case 'operator':
      return `operator, contents ${role.reads === 'contents' ? 'read' : 'masked'}`;
  }
}
