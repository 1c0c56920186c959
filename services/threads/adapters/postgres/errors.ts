import { DatabaseError } from 'pg';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';

/** The one place that knows the driver's errors: what may pass becomes Unavailable, a fault of ours stays what it is. */
export function toServiceError(error: unknown): unknown {
  const code = codeOf(error);
  const isUnavailable = code !== undefined && unavailableClasses.has(code.slice(0, 2));
  if (isUnavailable || isOfConnection(error)) return unavailable(away, error);
  return code === undefined ? error : new ServiceError('StorageFailed', 'the store failed', { cause: error });
}

export const away = 'the record of threads is unavailable for now';

/** Whether a transaction failed because another one came first. */
export function isLostToOther(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== undefined && concurrencyCodes.has(code)) || isNewThread(error);
}

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
export function isOfConnection(error: unknown): boolean {
  if (error instanceof ServiceError || error instanceof TypeError || error instanceof RangeError) return false;
  if (!(error instanceof DatabaseError)) return error instanceof Error && isOfDriver(error);
  const code = error.code ?? '';
  return brokenConnectionCodes.has(code) || code.startsWith('08') || ['FATAL', 'PANIC'].includes(error.severity ?? '');
}

/** The driver throws plain errors of its own, which differ by their text, and passes those of sockets through with their code. */
const isOfDriver = (error: Error): boolean =>
  ('code' in error && typeof error.code === 'string') ||
  /^(Connection terminated|Client has encountered|Client was closed|Query read timeout|timeout exceeded|timeout expired|The server does not support SSL|SASL)/.test(
    error.message,
  );
