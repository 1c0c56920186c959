import { needsOf, type Crossing, type PoolUser } from './permissions.ts';

/** The names of two accounts of a NATS server. */
interface AccountNames {
  /** Of the service, with JetStream. */
  readonly service: string;
  /** Of the pool's workers alone. */
  readonly pool: string;
}

/** What two accounts let through to each other, each a line of the configuration of a NATS server. */
interface PoolAccount {
  /** Belong to the `exports` and `imports` of the account of the service. */
  readonly serviceExports: readonly string[];
  readonly serviceImports: readonly string[];
  /** Are those of the account of the pool. */
  readonly exports: readonly string[];
  readonly imports: readonly string[];
}

/**
 * What the account of a pool's workers needs, and no more. A server sends the reply to a request to any subject that the request names, also
 * to one that its sender may not publish to. Between two accounts it gives the request a subject for the reply that it has made itself, and brings
 * the reply back into the account that it came from. So nothing that a pool names as a reply subject is a subject of the service.
 */
export function accountOf(user: PoolUser, { service, pool }: AccountNames): PoolAccount {
  const lines: Record<keyof PoolAccount, string[]> = {
    serviceExports: [],
    serviceImports: [],
    exports: [],
    imports: [],
  };
  for (const { publish = [], subscribe = [], crosses } of needsOf(user)) {
    if (crosses === undefined) continue;
    const { kind, isOfService, options = '' } = ways[crosses];
    const [exports, imports] = isOfService
      ? [lines.serviceExports, lines.imports]
      : [lines.exports, lines.serviceImports];
    const [from, to] = isOfService ? [service, pool] : [pool, service];
    for (const each of [...publish, ...subscribe]) {
      const subject = JSON.stringify(each);
      exports.push(`{ ${kind}: ${subject}${options}, accounts: [${to}] }`);
      imports.push(`{ ${kind}: { account: ${from}, subject: ${subject} } }`);
    }
  }
  return lines;
}

/** What is exported for a way, and whether the account of the service exports it. */
interface Way {
  readonly kind: 'service' | 'stream';
  readonly isOfService: boolean;
  readonly options?: string;
}

/** The two accounts as they stand in the configuration of a NATS server, with places for the credentials of the pool's user. */
export function toAccountsConfig(account: PoolAccount, { service, pool }: AccountNames): string {
  return [
    `# To add to the exports and imports of the account ${service}:\n`,
    `exports: ${toList(account.serviceExports, '')}\nimports: ${toList(account.serviceImports, '')}\n`,
    `# To add to the accounts:\n`,
    toBlock(pool, [limitsOf(account)], account, ''),
  ].join('');
}

/** The account of one of several pools. */
export interface NamedPool {
  /** The name of its account. */
  readonly account: string;
  readonly user: PoolUser;
}

/**
 * The account of the service and those of several pools, whole, as they stand in the configuration of a NATS server. The passwords of their users are
 * variables, `$SERVICE_PASSWORD` of an account `SERVICE`: of the environment of the server, or set in its configuration.
 */
export function toAllAccountsConfig(pools: readonly NamedPool[], service: string): string {
  const accounts = pools.map(({ account: pool, user }) => ({ pool, ...accountOf(user, { service, pool }) }));
  const ofService = {
    exports: accounts.flatMap(({ serviceExports }) => serviceExports),
    imports: accounts.flatMap(({ serviceImports }) => serviceImports),
  };
  return [
    'accounts {\n',
    toBlock(service, ['jetstream: enabled'], ofService, '  '),
    ...accounts.map(({ pool, ...account }) => toBlock(pool, [limitsOf(account)], account, '  ')),
    '}\n',
  ].join('');
}

/** Connections of all workers of a pool, twice as many while they are replaced. */
const maxConnections = 1000;
/** The default of the server. What workers send is divided into messages of half of it. */
const maxPayload = 1_048_576;

/** What the account of a pool may take of the server. A worker has a few subscriptions for each of its agents and revisions. */
function limitsOf({ exports, imports }: Pick<PoolAccount, 'exports' | 'imports'>): string {
  const maxSubscriptions = 100 + 10 * (exports.length + imports.length);
  return `limits: { max_connections: ${String(maxConnections)}, max_subscriptions: ${String(maxSubscriptions)}, max_payload: ${String(maxPayload)} }`;
}

/** One account with its user. */
function toBlock(
  name: string,
  settings: readonly string[],
  { exports, imports }: Pick<PoolAccount, 'exports' | 'imports'>,
  indent: string,
): string {
  const inner = `${indent}  `;
  const lines = [
    ...settings,
    `users: [{ user: ${name.toLowerCase()}, password: $${name}_PASSWORD }]`,
    `exports: ${toList(exports, inner)}`,
    `imports: ${toList(imports, inner)}`,
  ];
  return `${indent}${name}: {\n${lines.map((line) => `${inner}${line}\n`).join('')}${indent}}\n`;
}

const toList = (lines: readonly string[], indent: string): string =>
  `[\n${lines.map((line) => `${indent}  ${line}\n`).join('')}${indent}]`;

const ways: Readonly<Record<Crossing, Way>> = {
  asks: { kind: 'service', isOfService: true },
  'asks for many': { kind: 'service', isOfService: true, options: ', response_type: Stream' },
  notifies: { kind: 'stream', isOfService: false },
  'is asked': { kind: 'service', isOfService: false },
  'is notified': { kind: 'stream', isOfService: true },
};
