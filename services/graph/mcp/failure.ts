import type { FailureReason } from '@agent-workflow/kit/errors';
import { StatedError } from '../state/stated-error.ts';

/** What an error of the client may hold. Errors are read by their fields, because an agent may bring another copy of the client. */
interface ClientFault {
  /** A text for the client's own errors and those of the system, a number for those of JSON-RPC. */
  readonly code?: unknown;
  readonly status?: unknown;
  readonly data?: { readonly status?: unknown };
  readonly message?: unknown;
  readonly cause?: unknown;
}

const faultsIn = (error: unknown): readonly ClientFault[] => {
  const faults: ClientFault[] = [];
  for (let at = error; typeof at === 'object' && at !== null && faults.length < 8; at = (at as ClientFault).cause)
    faults.push(at);
  return faults;
};

const codesOf = (error: unknown): readonly unknown[] => faultsIn(error).map(({ code }) => code);

const statusOf = (error: unknown): unknown =>
  faultsIn(error)
    .map(({ status, data }) => status ?? data?.status)
    .find((status) => typeof status === 'number');

/** The answer to a session that the server does not know any more. */
const noSession = 404;
const refusals: ReadonlySet<unknown> = new Set([401, 403]);
const unreached: ReadonlySet<unknown> = new Set([
  'NOT_CONNECTED',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EACCES',
]);
const cut: ReadonlySet<unknown> = new Set([
  'CONNECTION_CLOSED',
  'SEND_FAILED',
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
]);

/** The error of a call whose reply was cut off. */
export const connectionLost = (cause: unknown): Error =>
  Object.assign(new Error('the reply was cut off', { cause }), { code: 'CONNECTION_CLOSED' });

/** What became of a connection, and of a call on it: the call did not arrive, or nobody knows; `undefined` when the connection stands. */
export function lossIn(error: unknown): 'unsent' | 'unknown' | undefined {
  const codes = codesOf(error);
  if (codes.some((code) => unreached.has(code)) || statusOf(error) === noSession) return 'unsent';
  if (codes.some((code) => cut.has(code)) || faultsIn(error).some(({ message }) => message === 'fetch failed'))
    return 'unknown';
  return undefined;
}

/** Whether another attempt to connect may succeed. */
export const mayReconnect = (error: unknown): boolean => {
  const status = statusOf(error);
  const isRefused = typeof status === 'number' && String(status).startsWith('4');
  return !isRefused && !codesOf(error).some((code) => code === 'ENOENT' || code === 'EACCES');
};

/**
 * The error that the model and the caller of the run may see. It names neither the address nor the command, and of what the server
 * wrote only why it refused the arguments. The cause has the rest.
 */
export const toMcpFailure = (error: unknown): Error =>
  new StatedError(messageOf(error), { reason: mcpReason(error), cause: error });

/** The error that stops the start of the process: it says which setting to check. */
export const toStartFailure = (error: unknown, setting: 'url' | 'command'): Error =>
  new Error(`${messageOf(error)}: check ${isRefusal(statusOf(error)) ? 'headers' : setting}`, { cause: error });

const isRefusal = (status: unknown): boolean => refusals.has(status);

function mcpReason(error: unknown): FailureReason {
  const status = statusOf(error);
  if (isRefusal(status)) return 'credentials_refused';
  const loss = lossIn(error);
  if (loss !== undefined) return loss === 'unsent' ? 'unreachable' : 'cut_off';
  if (codesOf(error).includes('REQUEST_TIMEOUT')) return 'timed_out';
  return typeof status === 'number' ? 'provider_error' : 'refused_by_provider';
}

function messageOf(error: unknown): string {
  const status = statusOf(error);
  if (isRefusal(status)) return `the MCP server refused the credentials (${String(status)})`;
  const codes = codesOf(error);
  if (codes.includes('CLOSED')) return 'the tools of the MCP server were closed';
  const loss = lossIn(error);
  if (loss === 'unsent') return 'the MCP server cannot be reached';
  if (loss === 'unknown') return 'the connection to the MCP server was lost: the call may have taken effect';
  if (codes.includes('REQUEST_TIMEOUT')) return 'the MCP server took too long to answer';
  if (typeof status === 'number') return `the MCP server failed (${String(status)})`;
  return refusalOf(faultsIn(error).find(({ code }) => typeof code === 'number'));
}

function refusalOf(refusal: ClientFault | undefined): string {
  if (!refusal) return 'the MCP server failed';
  if (refusal.code === -32_602) return `the MCP server refused the call: ${String(refusal.message)}`;
  if (refusal.code === -32_042) return 'the MCP server asks for a visit to a web page, which a run cannot make';
  return `the MCP server refused the call (${String(refusal.code)})`;
}
