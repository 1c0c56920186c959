import { isServiceError, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { retry } from '@agent-workflow/kit/retry';
import type { SentRequest } from '@agent-workflow/runtime/requests';
import type { Row } from '../../record/sql-rows.ts';
import { away, toServiceError } from './errors.ts';
import { openConnections, type PostgresReach } from './connections.ts';
import {
  attempt,
  CommitInDoubt,
  isCommitted,
  LostAttempt,
  backoff,
  type Outcome,
  type Transaction,
  type TransactionOptions,
  type Work,
} from './transaction.ts';
import { toParams, type Param } from './values.ts';

/** One statement outside of a transaction, or one transaction, which may be lost to another one. */
type Sent = SentRequest<'read' | 'change'>;

/** How statements reach the server. Each fails with Unavailable while the server cannot be reached or is too slow to answer. */
export interface Session extends AsyncDisposable {
  /** One statement by itself. It sees one moment of the database. */
  readonly query: (sql: string, params?: readonly Param[]) => Promise<readonly Row[]>;
  /** The clock of the server, in milliseconds since 1970. */
  readonly readClock: () => Promise<number>;
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

export interface SessionOptions {
  /** How long one transaction is tried, in milliseconds. */
  readonly deadlineMs: number;
  readonly onRequest?: ((request: Sent) => void) | undefined;
}

/** Opens a pool of connections; none is made before the first statement. */
export async function openSession(reach: PostgresReach, { deadlineMs, onRequest }: SessionOptions): Promise<Session> {
  const pool = await openConnections(reach);
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

    readClock: async () => {
      const [row] = await pool.query<Row>(selectClock).then(rowsOf, refuse);
      return row?.['now'] as number;
    },

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

const selectClock = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now';

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

const toUnavailable = ({ lostToOther, cause }: LostAttempt): ServiceError =>
  unavailable(lostToOther ? 'the record of threads did not take the change in time' : away, cause);

function refuse(error: unknown): never {
  throw toServiceError(error);
}
