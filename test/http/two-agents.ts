import { agentAt } from '../servers/standalone.ts';

/** What `service.json` says where `support` (obedient) is the default, and `office` (clerk) stands beside it. */
export const twoAgents = {
  agents: { support: agentAt('obedient'), office: { path: agentAt('clerk'), description: 'Writes things down.' } },
  default_agent: 'support',
} as const;
