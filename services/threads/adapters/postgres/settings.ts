import { ConfigError, integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { readTlsFiles } from '@agent-workflow/runtime/tls-files';
import type { PostgresReach } from './connections.ts';

/** How the threads service reaches its record on PostgreSQL. */
export const postgresSettings = {
  POSTGRES_HOST: text('localhost', 'The host of PostgreSQL, or of a pooler that keeps sessions'),
  POSTGRES_PORT: integer(5432, 'The port of PostgreSQL', { min: 1, max: 65_535 }),
  POSTGRES_DATABASE: text('agent_workflow', 'The database of the record; it must exist'),
  POSTGRES_SCHEMA: text(
    'agent_workflow',
    'The schema of the record, which migrating makes: lower-case letters, digits and `_`',
  ),
  POSTGRES_USERNAME: text('agent_workflow', 'The role that signs in to PostgreSQL'),
  POSTGRES_PASSWORD: text(undefined, 'The password of that role', { secret: true }),
  POSTGRES_PASSWORD_FILE: text(undefined, 'A file that holds the password instead; it is read at every new connection'),
  POSTGRES_TLS_CA_FILE: text(
    undefined,
    'PEM file of the authority that signs the certificate of PostgreSQL; once it is set, connections are encrypted',
  ),
  POSTGRES_TLS_CERT_FILE: text(undefined, 'PEM file of the certificate to show to PostgreSQL'),
  POSTGRES_TLS_KEY_FILE: text(undefined, 'PEM file of the key of that certificate'),
  POSTGRES_TLS_SERVER_NAME: text(
    undefined,
    'The name that the certificate of PostgreSQL is for, where it is not `POSTGRES_HOST`',
  ),
  POSTGRES_CONNECTIONS: integer(10, 'The most connections that one process opens to PostgreSQL', { min: 1, max: 1000 }),
  POSTGRES_REQUEST_TIMEOUT_MS: integer(
    3000,
    'How long one statement, and the wait for a connection to PostgreSQL, may take, in milliseconds',
    { min: 1, max: 600_000 },
  ),
  POSTGRES_DEADLINE_MS: integer(
    10_000,
    'How long a write is tried while PostgreSQL is unavailable or other writes come before it, in milliseconds',
    { min: 1 },
  ),
} satisfies Settings;

export type PostgresValues = Values<typeof postgresSettings>;

/** The settings in the words of the adapter. */
interface ConfiguredPostgres extends PostgresReach {
  readonly deadlineMs: number;
}

/** @throws ConfigError naming every setting that does not hold with the others. */
export function readPostgres(values: PostgresValues): ConfiguredPostgres {
  const { tls, problems: ofTls } = readTlsFiles('POSTGRES', {
    caFile: values.POSTGRES_TLS_CA_FILE,
    certFile: values.POSTGRES_TLS_CERT_FILE,
    keyFile: values.POSTGRES_TLS_KEY_FILE,
    serverName: values.POSTGRES_TLS_SERVER_NAME,
  });
  const problems = [...problemsOf(values), ...ofTls];
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  const { POSTGRES_PASSWORD: password, POSTGRES_PASSWORD_FILE: passwordFile } = values;
  return {
    host: values.POSTGRES_HOST,
    port: values.POSTGRES_PORT,
    database: values.POSTGRES_DATABASE,
    schema: values.POSTGRES_SCHEMA,
    username: values.POSTGRES_USERNAME,
    ...(password !== undefined && { password }),
    ...(passwordFile !== undefined && { passwordFile }),
    ...(tls && { tls }),
    connections: values.POSTGRES_CONNECTIONS,
    requestTimeoutMs: values.POSTGRES_REQUEST_TIMEOUT_MS,
    deadlineMs: values.POSTGRES_DEADLINE_MS,
  };
}

function problemsOf(values: PostgresValues): string[] {
  const { POSTGRES_PASSWORD: password, POSTGRES_PASSWORD_FILE: file } = values;
  return [
    ...(/^[a-z][a-z0-9_]{0,47}$/.test(values.POSTGRES_SCHEMA)
      ? []
      : ['POSTGRES_SCHEMA must be at most 48 lower-case letters, digits and _, and begin with a letter']),
    ...(password !== undefined && file !== undefined
      ? ['POSTGRES_PASSWORD and POSTGRES_PASSWORD_FILE must not both be set']
      : []),
  ];
}
