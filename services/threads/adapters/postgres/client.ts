import { readFile } from 'node:fs/promises';
import { DatabaseError, Pool, types, type PoolClient, type PoolConfig, type QueryResult } from 'pg';
import { isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { retry, type Backoff } from '@agent-workflow/kit/retry';
import type { SentRequest } from '@agent-workflow/runtime/requests';
import { loadTls, type TlsFiles } from '@agent-workflow/runtime/tls-files';
import type { Row } from '../../record/sql-rows.ts';
import { fromText, toText } from './texts.ts';

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

export type Param = string | number | boolean | Uint8Array | null | readonly string[] | readonly number[];

/** One statement outside of a transaction, or one transaction, which may be lost to another one. */
type Sent = SentRequest<'read' | 'change'>;

/**
 * The statements of one transaction. They are sent without waiting for each other's answers and run in the order of the calls, so
 * that statements which do not depend on each other take one round trip together.
 */
export interface Transaction {
  readonly query: (sql: string, params?: readonly Param[]) => Promise<readonly Row[]>;
  /** The number of rows that the statement wrote. */
  readonly write: (sql: string, params?: readonly Param[]) => Promise<number>;
}

/** What the work of a transaction came to. */
interface Outcome<T> {
  readonly reply: T;
  /** Whether anything was written: then it is committed, and rolled back otherwise, which needs no sync of the disk. */
  readonly isWritten: boolean;
}

/** How statements reach the server. Each fails with Unavailable while the server cannot be reached or is too slow to answer. */
export interface Session extends AsyncDisposable {
  /** One statement by itself. It sees one moment of the database. */
  readonly query: (sql: string, params?: readonly Param[]) => Promise<readonly Row[]>;
  /**
   * Runs `work` in a transaction of isolation READ COMMITTED. `work` runs again when another transaction came first, or the connection
   * broke before the commit was sent; so it changes nothing but the database. When the connection breaks during the commit, the server
   * is asked what became of it.
   * @throws what `work` throws, with nothing written; Unavailable when the `deadlineMs` of the session pass first.
   */
  readonly transaction: <T>(
    work: (transaction: Transaction) => Promise<Outcome<T>>,
    options?: TransactionOptions,
  ) => Promise<T>;
}

interface TransactionOptions {
  /** How long one statement may take, in milliseconds; as the session's when absent. */
  readonly statementTimeoutMs?: number;
}

export interface SessionOptions {
  /** How long one transaction is tried, in milliseconds. */
  readonly deadlineMs: number;
  readonly onRequest?: ((request: Sent) => void) | undefined;
}

/** Opens a pool of connections; none is made before the first statement. */
export async function openSession(reach: PostgresReach, { deadlineMs, onRequest }: SessionOptions): Promise<Session> {
  const pool = createPool(await toPoolConfig(reach));
  const watched = <T>(kind: Sent['kind'], sent: Promise<T>): Promise<T> => {
    onRequest?.({ kind, answered: outcomeOf(sent) });
    return sent;
  };
  const tryTransaction = async <T>(work: Work<T>, options: TransactionOptions, deadline: number): Promise<T> => {
    try {
      return await watched('change', attempt(pool, work, options));
    } catch (error) {
      if (!(error instanceof CommitInDoubt)) throw error;
      if (await isCommitted(pool, error, deadline)) return error.reply as T;
      throw new LostAttempt(error.cause, false);
    }
  };

  return {
    query: (sql, params = []) => watched('read', pool.query<Row>(sql, toParams(params)).then(rowsOf, refuse)),

    transaction: async (work, options = {}) => {
      const deadline = Date.now() + deadlineMs;
      const mayHelp = (error: unknown): boolean => error instanceof LostAttempt;
      return retry(() => tryTransaction(work, options, deadline), { ...backoff, deadline, mayHelp }).catch(
        (error: unknown) => {
          throw error instanceof LostAttempt ? toUnavailable(error) : error;
        },
      );
    },

    [Symbol.asyncDispose]: () => pool.end(),
  };
}

type Work<T> = (transaction: Transaction) => Promise<Outcome<T>>;

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
const answerMs = 500;

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

/** Object ids of the types that the tables use. */
const oids = { bytea: 17, int8: 20, text: 25, numeric: 1700 };

type Parse = (text: string) => unknown;

/** Numbers of the record are below 2^53. */
const parsers: Readonly<Record<number, Parse>> = {
  [oids.bytea]: (text) => toBytes(Buffer.from(text.slice(2), 'hex')),
  [oids.int8]: Number,
  [oids.numeric]: Number,
  [oids.text]: fromText,
};

const toBytes = ({ buffer, byteOffset, byteLength }: Buffer): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

const getTypeParser: typeof types.getTypeParser = (oid: number, format?: string) =>
  parsers[oid] ?? (types.getTypeParser as (oid: number, format?: string) => Parse)(oid, format);

const toParams = (params: readonly Param[]): unknown[] =>
  params.map((param) => {
    if (typeof param === 'string') return toText(param);
    return Array.isArray(param)
      ? param.map((item: string | number) => (typeof item === 'string' ? toText(item) : item))
      : param;
  });

const rowsOf = ({ rows }: { readonly rows: readonly Row[] }): readonly Row[] => rows;

const outcomeOf = async (sent: Promise<unknown>): Sent['answered'] =>
  sent.then(
    () => 'ok',
    (error: unknown) => {
      if (error instanceof LostAttempt && error.lostToOther) return 'lost';
      return error instanceof LostAttempt || error instanceof CommitInDoubt || isServiceError(error, 'Unavailable')
        ? 'failed'
        : 'ok';
    },
  );

/** A transaction that was not committed for certain, and that may succeed when it runs again. */
class LostAttempt extends Error {
  /** Whether it was lost to another transaction, which came first. */
  readonly lostToOther: boolean;

  constructor(cause: unknown, lostToOther: boolean) {
    super('the transaction was not committed', { cause });
    this.lostToOther = lostToOther;
  }
}

/** A transaction whose commit was sent and not answered. */
class CommitInDoubt extends Error {
  readonly sent: SentCommit;
  readonly reply: unknown;

  constructor(cause: unknown, sent: SentCommit, reply: unknown) {
    super('the commit was not answered', { cause });
    this.sent = sent;
    this.reply = reply;
  }
}

interface SentCommit {
  readonly xid: string;
  /** When the server had started that gave the transaction its number. */
  readonly started: string;
}

/** @throws LostAttempt, CommitInDoubt, or what `work` throws. */
async function attempt<T>(pool: Pool, work: Work<T>, { statementTimeoutMs }: TransactionOptions): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw isServiceError(error) ? error : new LostAttempt(error, false);
  });
  let isUsable = true;
  try {
    const timeout = statementTimeoutMs === undefined ? {} : { query_timeout: statementTimeoutMs + answerMs };
    const send = async (text: string, params: readonly Param[] = []): Promise<QueryResult<Row>> =>
      client.query<Row>({ text, values: toParams(params), ...timeout });
    const begun = send(begin);
    if (statementTimeoutMs !== undefined)
      send(`SET LOCAL statement_timeout = ${String(statementTimeoutMs)}`).catch(ignore);
    begun.catch(ignore);
    const { reply, isWritten } = await work({
      query: (sql, params) => send(sql, params).then(rowsOf),
      write: async (sql, params) => (await send(sql, params)).rowCount ?? 0,
    });
    await begun;
    if (isWritten) await commit(client, reply);
    else await send('ROLLBACK');
    return reply;
  } catch (error) {
    // What is still under way on this connection is answered before the rollback is.
    isUsable = !isOfConnection(error) && (await client.query('ROLLBACK').then(isDone, isNotDone));
    throw toAttemptError(error);
  } finally {
    client.release(!isUsable);
  }
}

const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED';
const isDone = (): boolean => true;
const isNotDone = (): boolean => false;

/** @throws CommitInDoubt when the answer does not come. */
async function commit(client: PoolClient, reply: unknown): Promise<void> {
  const [row] = (await client.query<Row>(`SELECT pg_current_xact_id()::text AS xid, ${startColumn}`)).rows;
  const sent = { xid: String(row?.['xid']), started: String(row?.['started']) };
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw isOfConnection(error) ? new CommitInDoubt(error, sent, reply) : error;
  });
  if (command !== 'COMMIT') throw new ServiceError('StorageFailed', 'the store failed');
}

/** SQL that selects when the server started. */
const startColumn = 'pg_postmaster_start_time()::text AS started';

/**
 * Asks the server what became of a transaction. One whose commit never arrived ends when its connection does, at the latest after
 * `idle_in_transaction_session_timeout`. A server that crashed before the transaction was on disk gives its number to another one: after a
 * restart `committed` may be said of that one, so that only `aborted` is an answer.
 * @throws Unavailable when the deadline comes before the answer, or there is none.
 */
const isCommitted = (pool: Pool, { sent, cause }: CommitInDoubt, deadline: number): Promise<boolean> =>
  retry(
    async () => {
      const { rows } = await pool.query<Row>(`SELECT pg_xact_status($1::xid8) AS status, ${startColumn}`, [sent.xid]);
      const [row] = rows;
      const status = row?.['status'];
      if (status === 'aborted') return false;
      if (status === 'committed' && row?.['started'] === sent.started) return true;
      throw new TransactionUnknown(String(status), status === 'committed');
    },
    { ...backoff, deadline, mayHelp: (error) => !(error instanceof TransactionUnknown && error.isFinal) },
  ).catch(() => {
    throw unavailable('whether the change was written is not known', cause);
  });

/** The server does not say what became of a transaction. */
class TransactionUnknown extends Error {
  /** Whether it never will. */
  readonly isFinal: boolean;

  constructor(status: string, isFinal: boolean) {
    super(`the transaction is ${status}`);
    this.isFinal = isFinal;
  }
}

/** Waits of random length, so that transactions which collided once do not collide again. */
const backoff: Backoff = { firstMs: 10, maxMs: 250, jitter: 1 };

const toUnavailable = ({ lostToOther, cause }: LostAttempt): ServiceError =>
  unavailable(lostToOther ? 'the record of threads did not take the change in time' : away, cause);

/** Codes by which the server reports that another transaction came first: serialization failure, deadlock, lock not available. */
const concurrencyCodes: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);

/** Two transactions made one thread: the second finds it when it runs again. */
const isNewThread = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === '23505' && error.table === 'threads';

/** Codes after which a connection is to be closed: the server ends it, or is a standby that takes no writes. */
const brokenConnectionCodes: ReadonlySet<string> = new Set(['25006', '25P03', '57P01', '57P02', '57P03', '57P05']);

/** Classes of codes by which the server reports that it cannot work for now: connections, resources, operators, the system. */
const unavailableClasses: ReadonlySet<string> = new Set(['08', '28', '3D', '53', '57', '58']);

const codeOf = (error: unknown): string | undefined => (error instanceof DatabaseError ? error.code : undefined);

/** Whether the connection on which this was thrown is to be closed. The errors of sockets are of no class of the driver's. */
function isOfConnection(error: unknown): boolean {
  if (error instanceof ServiceError || error instanceof TypeError || error instanceof RangeError) return false;
  if (!(error instanceof DatabaseError)) return error instanceof Error && isOfDriver(error);
  const code = error.code ?? '';
  return brokenConnectionCodes.has(code) || code.startsWith('08') || ['FATAL', 'PANIC'].includes(error.severity ?? '');
}

/** The driver throws plain errors of its own, which differ by their text, and passes those of sockets through with their code. */
const isOfDriver = (error: Error): boolean =>
  ('code' in error && typeof error.code === 'string') ||
  /^(Connection terminated|Client has encountered|Client was closed|Query read timeout|timeout e|timeout expired|The server does not support SSL|SASL)/.test(
    error.message,
  );

function toAttemptError(error: unknown): unknown {
  if (error instanceof CommitInDoubt || error instanceof LostAttempt) return error;
  const code = codeOf(error);
  if ((code !== undefined && concurrencyCodes.has(code)) || isNewThread(error)) return new LostAttempt(error, true);
  if (isOfConnection(error)) return new LostAttempt(error, false);
  return toServiceError(error);
}

/** The one place that knows the driver's errors: what may pass becomes Unavailable, a fault of ours stays what it is. */
function toServiceError(error: unknown): unknown {
  const code = codeOf(error);
  if (code !== undefined && unavailableClasses.has(code.slice(0, 2))) return unavailable(away, error);
  if (isOfConnection(error)) return unavailable(away, error);
  return code === undefined ? error : new ServiceError('StorageFailed', 'the store failed', { cause: error });
}

const away = 'the record of threads is unavailable for now';

function refuse(error: unknown): never {
  throw toServiceError(error);
}
