import type { Pool, PoolClient, QueryResult } from 'pg';
import { isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { retry, type Backoff } from '@agent-workflow/kit/retry';
import type { Row } from '../../record/sql-rows.ts';
import { isLostToOther, isOfConnection, toServiceError } from './errors.ts';
import { answerMs } from './connections.ts';
import { toParams, type Param } from './values.ts';

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
export interface Outcome<T> {
  readonly reply: T;
  /** Whether anything was written: then it is committed, and rolled back otherwise, which needs no sync of the disk. */
  readonly isWritten: boolean;
}

export type Work<T> = (transaction: Transaction) => Promise<Outcome<T>>;

export interface TransactionOptions {
  /** How long one statement may take, in milliseconds; as the session's when absent. */
  readonly statementTimeoutMs?: number;
}

/** A transaction that was not committed for certain, and that may succeed when it runs again. */
export class LostAttempt extends Error {
  /** Whether it was lost to another transaction, which came first. */
  readonly lostToOther: boolean;

  constructor(cause: unknown, lostToOther: boolean) {
    super('the transaction was not committed', { cause });
    this.lostToOther = lostToOther;
  }
}

/** A transaction whose commit was sent and not answered. */
export class CommitInDoubt extends Error {
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
export async function attempt<T>(pool: Pool, work: Work<T>, { statementTimeoutMs }: TransactionOptions): Promise<T> {
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
      query: (sql, params) => send(sql, params).then(({ rows }) => rows),
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

const ignore = (): void => undefined;
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
export const isCommitted = (pool: Pool, { sent, cause }: CommitInDoubt, deadline: number): Promise<boolean> =>
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
export const backoff: Backoff = { firstMs: 10, maxMs: 250, jitter: 1 };

function toAttemptError(error: unknown): unknown {
  if (error instanceof CommitInDoubt || error instanceof LostAttempt) return error;
  if (isLostToOther(error)) return new LostAttempt(error, true);
  if (isOfConnection(error)) return new LostAttempt(error, false);
  return toServiceError(error);
}
