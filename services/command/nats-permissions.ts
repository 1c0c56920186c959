import { inboxFault, permissionsOf, toServerConfig } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { isAgentName, isRevision } from '@agent-workflow/kit/agents';

interface NatsPermissionsOptions {
  readonly agents: readonly string[];
  readonly revisions: readonly string[];
  readonly prefix: string;
  readonly inboxPrefix?: string | undefined;
}

/**
 * Prints what the NATS user of a pool's workers needs, as it stands in the configuration of a NATS server.
 * @returns 0; 2 with a line that says which name is none.
 */
export function natsPermissions({ agents, revisions, prefix, inboxPrefix }: NatsPermissionsOptions): number {
  const inboxProblem = inboxPrefix === undefined ? undefined : inboxFault(inboxPrefix, agents);
  const [problem] = [
    ...(agents.length === 0 ? ['--agent must name an agent of the pool; it may be given several times'] : []),
    ...agents.filter((name) => !isAgentName(name)).map((name) => `"${name}" is no name of an agent`),
    ...revisions.filter((name) => !isRevision(name)).map((name) => `"${name}" is no revision`),
    ...(/^[\w-]*$/.test(prefix) ? [] : [`"${prefix}" is no prefix: letters, digits, - and _`]),
    ...(inboxProblem === undefined ? [] : [`--inbox-prefix ${inboxProblem}`]),
  ];
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    return 2;
  }
  process.stdout.write(toServerConfig(permissionsOf({ agents, revisions, prefix, inboxPrefix })));
  return 0;
}
