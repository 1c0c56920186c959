import { ConfigError, integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { readTlsFiles, type TlsFiles } from '@agent-workflow/runtime/tls-files';

/** How the threads service reaches its record in a cluster. */
export const cassandraSettings = {
  CASSANDRA_CONTACT_POINTS: text('localhost:9042', 'Nodes of Cassandra, `host:port` each, separated by commas'),
  CASSANDRA_LOCAL_DATACENTER: text('datacenter1', 'The data centre of Cassandra whose nodes are asked'),
  CASSANDRA_KEYSPACE: text('agent_workflow', 'The keyspace of the record: lower-case letters, digits and `_`'),
  CASSANDRA_REPLICATION: text(
    '3',
    'Replicas of a keyspace that is made: a number for the local data centre, or `centre:number` each, separated by commas',
  ),
  CASSANDRA_USERNAME: text(undefined, 'Whom to sign in to Cassandra as'),
  CASSANDRA_PASSWORD: text(undefined, 'The password of that user', { secret: true }),
  CASSANDRA_TLS_CA_FILE: text(
    undefined,
    'PEM file of the authority that signs the certificates of Cassandra; once it is set, connections are encrypted',
  ),
  CASSANDRA_TLS_CERT_FILE: text(undefined, 'PEM file of the certificate to show to Cassandra'),
  CASSANDRA_TLS_KEY_FILE: text(undefined, 'PEM file of the key of that certificate'),
  CASSANDRA_TLS_SERVER_NAME: text(
    undefined,
    'The name that the certificates of Cassandra are for, where it is not the address of each node',
  ),
  CASSANDRA_REQUEST_TIMEOUT_MS: integer(3000, 'How long one request to Cassandra may take, in milliseconds', {
    min: 1,
  }),
  CASSANDRA_DEADLINE_MS: integer(
    10_000,
    'How long a write is pursued whose outcome is in doubt, or that others come before, in milliseconds',
    { min: 1 },
  ),
} satisfies Settings;

export type CassandraValues = Values<typeof cassandraSettings>;

/** The settings in the words of the adapter, which knows of no environment. */
interface CassandraReach {
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
  readonly keyspace: string;
  readonly credentials?: { readonly username: string; readonly password: string };
  readonly tls?: TlsFiles;
  readonly requestTimeoutMs: number;
  readonly deadlineMs: number;
  /** Data centre to number of replicas. */
  readonly replication: Readonly<Record<string, number>>;
}

/** @throws ConfigError naming every setting that does not hold with the others. */
export function readCassandra(values: CassandraValues): CassandraReach {
  const replication = readReplication(values.CASSANDRA_REPLICATION, values.CASSANDRA_LOCAL_DATACENTER);
  const { tls, problems: ofTls } = readTlsFiles('CASSANDRA', {
    caFile: values.CASSANDRA_TLS_CA_FILE,
    certFile: values.CASSANDRA_TLS_CERT_FILE,
    keyFile: values.CASSANDRA_TLS_KEY_FILE,
    serverName: values.CASSANDRA_TLS_SERVER_NAME,
  });
  const ofReplication = replication ? [] : [`CASSANDRA_REPLICATION ${replicationRule}`];
  const problems = [...problemsOf(values), ...ofTls, ...ofReplication];
  if (!replication || problems.length > 0) throw new ConfigError(problems.join('\n'));
  const { CASSANDRA_USERNAME: username, CASSANDRA_PASSWORD: password } = values;
  return {
    contactPoints: pointsOf(values),
    localDataCenter: values.CASSANDRA_LOCAL_DATACENTER,
    keyspace: values.CASSANDRA_KEYSPACE,
    ...(username !== undefined && password !== undefined && { credentials: { username, password } }),
    ...(tls && { tls }),
    requestTimeoutMs: values.CASSANDRA_REQUEST_TIMEOUT_MS,
    deadlineMs: values.CASSANDRA_DEADLINE_MS,
    replication,
  };
}

const replicationRule = 'must be a whole number from 1, or `centre:number` each, separated by commas';

const pointsOf = ({ CASSANDRA_CONTACT_POINTS: points }: CassandraValues): string[] =>
  points
    .split(',')
    .map((point) => point.trim())
    .filter((point) => point !== '');

function problemsOf(values: CassandraValues): string[] {
  const { CASSANDRA_USERNAME: user, CASSANDRA_PASSWORD: password } = values;
  return [
    ...(pointsOf(values).length > 0 ? [] : ['CASSANDRA_CONTACT_POINTS must name a node']),
    ...(/^[a-z][a-z0-9_]{0,47}$/.test(values.CASSANDRA_KEYSPACE)
      ? []
      : ['CASSANDRA_KEYSPACE must be at most 48 lower-case letters, digits and _, and begin with a letter']),
    ...((user === undefined) === (password === undefined)
      ? []
      : ['CASSANDRA_USERNAME and CASSANDRA_PASSWORD must be set together']),
  ];
}

/** `3`, or `east:3,west:2`. */
function readReplication(written: string, localDataCenter: string): Readonly<Record<string, number>> | undefined {
  const parts = (/^\d+$/.test(written) ? `${localDataCenter}:${written}` : written).split(',');
  const pairs = parts.map((part) => /^\s*([\w.-]+):([1-9]\d*)\s*$/.exec(part));
  return pairs.every((pair) => pair !== null)
    ? Object.fromEntries(pairs.map(([, centre = '', count]) => [centre, Number(count)]))
    : undefined;
}
