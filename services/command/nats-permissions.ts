import { accountOf, toAccountsConfig } from '@agent-workflow/execution/adapters/nats/pools/accounts';
import { inboxFault, permissionsOf, toServerConfig } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { isAgentName, isRevision } from '@agent-workflow/kit/agents';

interface NatsPermissionsOptions {
  readonly agents: readonly string[];
  readonly revisions: readonly string[];
  readonly prefix: string;
  readonly inboxPrefix?: string | undefined;
  /** The account of the pool's workers; absent: their user is in the account of the service. */
  readonly account?: string | undefined;
  readonly serviceAccount: string;
}

/**
 * Prints what the NATS user of a pool's workers needs, or their account, as it stands in the configuration of a NATS server.
 * @returns 0; 2 with a line that says which name is none.
 */
export function natsPermissions(options: NatsPermissionsOptions): number {
  const { agents, revisions, prefix, inboxPrefix, account, serviceAccount } = options;
  const inboxProblem = inboxPrefix === undefined ? undefined : inboxFault(inboxPrefix, agents);
  const [problem] = [
    ...(agents.length === 0 ? ['--agent must name an agent of the pool; it may be given several times'] : []),
    ...agents.filter((name) => !isAgentName(name)).map((name) => `"${name}" is no name of an agent`),
    ...revisions.filter((name) => !isRevision(name)).map((name) => `"${name}" is no revision`),
    ...(/^[\w-]*$/.test(prefix) ? [] : [`"${prefix}" is no prefix: letters, digits, - and _`]),
    ...[account, serviceAccount]
      .filter((name) => name !== undefined && !/^[A-Za-z]\w*$/.test(name))
      .map((name) => `"${String(name)}" is no name of an account: letters, digits and _, the first a letter`),
    ...(account === serviceAccount ? ['the pool and the service cannot have one account'] : []),
    ...(inboxProblem === undefined ? [] : [`--inbox-prefix ${inboxProblem}`]),
  ];
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    return 2;
  }
  const user = { agents, revisions, prefix, inboxPrefix };
  if (account === undefined) {
    process.stdout.write(toServerConfig(permissionsOf(user)));
    return 0;
  }
  const accounts = { service: serviceAccount, pool: account };
  process.stdout.write(toAccountsConfig(accountOf(user, accounts), accounts));
  return 0;
}
