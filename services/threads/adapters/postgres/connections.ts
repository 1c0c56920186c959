import { readFile } from 'node:fs/promises';
import { Pool, type PoolConfig } from 'pg';
import { unavailable } from '@agent-workflow/kit/errors';
import { loadTls, type TlsFiles } from '@agent-workflow/runtime/tls-files';
import { getTypeParser } from './values.ts';

/** Where a PostgreSQL server is, and how it is used. */
export interface PostgresReach {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** The schema in which the tables are. */
  readonly schema: string;
  readonly username: string;
  readonly password?: string;
  /** Read at every new connection, so that a changed password is used without a restart. Takes the place of `password`. */
  readonly passwordFile?: string;
  /** Present: connections are encrypted and the server's certificate is checked. */
  readonly tls?: TlsFiles;
  /** The most connections that this process opens. */
  readonly connections: number;
  /** How long one statement, and the wait for a connection, may take, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** A pool of connections to the server; none is made before the first statement. */
export const openConnections = async (reach: PostgresReach): Promise<Pool> => createPool(await toPoolConfig(reach));

/** A pool whose broken connections leave it without ending the process. */
function createPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  // Without a listener the error of a connection that breaks would be thrown where nobody catches it. The statement that uses the
  // connection gets the error; an idle connection is replaced at the next use.
  pool.on('error', ignore);
  pool.on('connect', (client) => {
    client.on('error', ignore);
    client.query(forceSynchronousCommit).catch(ignore);
  });
  return pool;
}

const ignore = (): void => undefined;

/** A write is promised to be on disk. Levels that an operator chose for standby servers stay. */
const forceSynchronousCommit = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** How much longer than the server's own timeout the client waits for its answer. */
export const answerMs = 500;

const keepAliveMs = 5000;
const idleMs = 30_000;

async function toPoolConfig(reach: PostgresReach): Promise<PoolConfig> {
  const { host, port, database, schema, username, password, passwordFile, tls, requestTimeoutMs } = reach;
  return {
    host,
    port,
    database,
    user: username,
    password: passwordFile === undefined ? (password ?? '') : () => readPassword(passwordFile),
    ssl: tls ? await loadTls(tls) : false,
    max: reach.connections,
    idleTimeoutMillis: idleMs,
    connectionTimeoutMillis: requestTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    // The server ends a statement itself; the client gives up a little later, for a server that does not answer at all.
    statement_timeout: requestTimeoutMs,
    query_timeout: requestTimeoutMs + answerMs,
    // A process that hangs in the middle of a transaction holds the lock of its thread no longer than this.
    idle_in_transaction_session_timeout: requestTimeoutMs,
    options: `-c search_path=${schema} -c jit=off -c client_min_messages=error`,
    application_name: 'agent-workflow-threads',
    types: { getTypeParser },
    // Statements are sent without waiting for the answers of those before them.
    pipeline: true,
  };
}

const readPassword = async (file: string): Promise<string> => {
  try {
    return (await readFile(file, 'utf8')).trimEnd();
  } catch (error) {
    throw unavailable('the password of the record of threads cannot be read', error);
  }
};
