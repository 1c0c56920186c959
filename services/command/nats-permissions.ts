import {
  accountOf,
  toAccountsConfig,
  toAllAccountsConfig,
  type NamedPool,
} from '@agent-workflow/execution/adapters/nats/pools/accounts';
import { inboxFault, permissionsOf, toServerConfig } from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { defaultAgent, hashOfPoolName, isAgentName, isRevision, nameOfPool } from '@agent-workflow/kit/agents';

interface NatsPermissionsOptions {
  readonly agents: readonly string[];
  readonly revisions: readonly string[];
  readonly prefix: string;
  readonly inboxPrefix?: string | undefined;
  /** The account of the pool's workers; absent: their user is in the account of the service. */
  readonly account?: string | undefined;
  /** Several pools in place of one, each as `ACCOUNT=agent,agent@revision`. */
  readonly pools: readonly string[];
  readonly serviceAccount: string;
}

/**
 * Prints what the NATS user of a pool's workers needs, or their account, as it stands in the configuration of a NATS server; of several pools
 * the accounts of all and that of the service.
 * @returns 0; 2 with a line that says which name is none.
 */
export function natsPermissions(options: NatsPermissionsOptions): number {
  const [config, problem] = options.pools.length > 0 ? configOfPools(options) : configOfOne(options);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    return 2;
  }
  process.stdout.write(config());
  return 0;
}

/** What is to be printed, and the first fault of what was given. */
type Checked = readonly [config: () => string, problem: string | undefined];

function configOfOne({
  agents,
  revisions,
  prefix,
  inboxPrefix,
  account,
  serviceAccount,
}: NatsPermissionsOptions): Checked {
  const inboxProblem = inboxPrefix === undefined ? undefined : inboxFault(inboxPrefix, agents);
  const [problem] = [
    ...(agents.length === 0 ? ['--agent must name an agent of the pool; it may be given several times'] : []),
    ...faultsOfNames({ agents, revisions }),
    ...faultsOfPrefix(prefix),
    ...faultsOfAccounts([...(account === undefined ? [] : [account]), serviceAccount]),
    ...(account === serviceAccount ? ['the pool and the service cannot have one account'] : []),
    ...(inboxProblem === undefined ? [] : [`--inbox-prefix ${inboxProblem}`]),
    ...faultsOfHashes([{ agents, revisions }]),
  ];
  const user = { agents, revisions, prefix, inboxPrefix };
  if (account === undefined) return [() => toServerConfig(permissionsOf(user)), problem];
  const accounts = { service: serviceAccount, pool: account };
  return [() => toAccountsConfig(accountOf(user, accounts), accounts), problem];
}

function configOfPools(options: NatsPermissionsOptions): Checked {
  const { prefix, serviceAccount } = options;
  const pools = options.pools.map((text) => readPool(text, prefix));
  const isOfOne = options.agents.length + options.revisions.length > 0 || options.account !== undefined;
  const names = [...pools.map(({ account }) => account), serviceAccount];
  const [problem] = [
    ...(isOfOne ? ['--pool names agents, revisions and account: no --agent, --revision or --account beside it'] : []),
    ...(options.inboxPrefix === undefined ? [] : ['--inbox-prefix is of one pool: each of --pool has its own']),
    ...pools.flatMap(({ account, user }) =>
      user.agents.length === 0 ? [`--pool ${account} names no agent: it is ACCOUNT=agent,agent@revision`] : [],
    ),
    ...pools.flatMap(({ user }) => faultsOfNames(user)),
    ...faultsOfPrefix(prefix),
    ...faultsOfAccounts(names),
    // The users have the names of the accounts in lower case, and a server takes each name of a user once.
    ...repeatedIn(names.map((name) => name.toLowerCase())).map((name) => `two accounts have the name "${name}"`),
    ...repeatedIn(pools.flatMap(({ user }) => user.agents)).map((agent) => `agent "${agent}" is in two pools`),
    ...faultsOfHashes(pools.map(({ user }) => user)),
  ];
  return [() => toAllAccountsConfig(pools, serviceAccount), problem];
}

/** A pool of `ACCOUNT=agent,agent@revision`. Its workers hold all of its agents, so that its revisions are those of each. */
function readPool(text: string, prefix: string): NamedPool {
  const [account = '', ...rest] = text.split('=');
  const held = rest.join('=').split(',').filter(Boolean);
  // A revision may have further signs of the kind; the name of an agent has none.
  const parts = held.map((each): readonly [agent: string, revision?: string] => {
    const at = each.indexOf('@');
    return at === -1 ? [each] : [each.slice(0, at), each.slice(at + 1)];
  });
  const agents = [...new Set(parts.map(([agent]) => agent))];
  const revisions = [...new Set(parts.flatMap(([, revision]) => (revision === undefined ? [] : [revision])))];
  return { account, user: { agents, revisions, prefix } };
}

const faultsOfNames = ({ agents, revisions }: Pick<NatsPermissionsOptions, 'agents' | 'revisions'>): string[] => [
  ...agents.filter((name) => !isAgentName(name)).map((name) => `"${name}" is no name of an agent`),
  ...revisions.filter((name) => !isRevision(name)).map((name) => `"${name}" is no revision`),
];

/** Subjects hold a hash of a name: a pool with the subjects of one of two names with one hash gets the runs of the other. */
function faultsOfHashes(users: readonly Pick<NatsPermissionsOptions, 'agents' | 'revisions'>[]): string[] {
  const names = users.flatMap(({ agents, revisions }) =>
    agents.flatMap((agent) => [agent, ...revisions.map((revision) => nameOfPool(agent, revision))]),
  );
  const byHash = new Map([[hashOfPoolName(defaultAgent), defaultAgent]]);
  return names.flatMap((name) => {
    const hash = hashOfPoolName(name);
    const other = byHash.get(hash) ?? name;
    byHash.set(hash, other);
    return other === name
      ? []
      : [
          `"${other}" and "${name}" have one hash, ${hash}, by which NATS would take one for the other: choose another name`,
        ];
  });
}

const faultsOfPrefix = (prefix: string): string[] =>
  /^[\w-]*$/.test(prefix) ? [] : [`"${prefix}" is no prefix: letters, digits, - and _`];

const faultsOfAccounts = (names: readonly string[]): string[] =>
  names
    .filter((name) => !/^[A-Za-z]\w*$/.test(name))
    .map((name) => `"${name}" is no name of an account: letters, digits and _, the first a letter`);

const repeatedIn = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];
