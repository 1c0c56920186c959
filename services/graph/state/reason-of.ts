import { errorCodes, type FailureReason, type ModelParameter } from '@agent-workflow/kit/errors';
import { isStatedError } from './stated-error.ts';

/** Why code failed, as callers may read it. */
interface Reason {
  readonly reason: FailureReason;
  readonly parameter?: ModelParameter | undefined;
  /** A sentence that holds no word of a server, a library or a value. */
  readonly text: string;
  /** Whether the error is one of the system, a driver or a parser, whose words name addresses, files and data. */
  readonly isOfSystem: boolean;
}

const texts: Readonly<Record<FailureReason, string>> = {
  user_error: 'it was refused',
  context_too_long: 'the conversation is too large for the model',
  answer_too_long: 'the answer of the model reached its length limit',
  content_filtered: 'the provider of the model filtered the content',
  refused_by_provider: 'the provider refused the request',
  credentials_refused: 'the credentials were refused',
  not_found: 'what was asked for is not there',
  rate_limited: 'there were too many requests',
  provider_error: 'the provider failed',
  unreachable: 'a server cannot be reached',
  cut_off: 'a connection was cut off',
  timed_out: 'a server took too long to answer',
  unreadable: 'an answer could not be read',
  unexpected: 'an unexpected error, which is in the log of the service',
};

/** Codes of system errors, of `fetch` and of TLS. */
const codes: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EAI_FAIL: 'unreachable',
  EHOSTDOWN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETDOWN: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ECONNRESET: 'cut_off',
  ECONNABORTED: 'cut_off',
  EPIPE: 'cut_off',
  UND_ERR_SOCKET: 'cut_off',
  ERR_STREAM_PREMATURE_CLOSE: 'cut_off',
  ETIMEDOUT: 'timed_out',
  ESOCKETTIMEDOUT: 'timed_out',
  UND_ERR_CONNECT_TIMEOUT: 'timed_out',
  UND_ERR_HEADERS_TIMEOUT: 'timed_out',
  UND_ERR_BODY_TIMEOUT: 'timed_out',
  ENOENT: 'unexpected',
  EACCES: 'unexpected',
  EPERM: 'unexpected',
};

/** Codes are such words; the text of an error may repeat the code of another. */
const capitals = /[A-Z_]+/g;
/** How much of a text is searched for a code, in characters. */
const searchedCharacters = 16 * 1024;

/** What is read of a thrown value and its causes. */
interface Thrown {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** Why code failed that threw this. The value may be any, also one whose members throw. */
export function reasonOf(error: unknown): Reason {
  try {
    if (isStatedError(error))
      return { reason: error.reason, parameter: error.parameter, text: error.message, isOfSystem: true };
    const chain = chainOf(error);
    const ours = chain[0] && textOfService(chain[0]);
    if (ours) return ours;
    const known = chain.map(knownReason).find((reason) => reason !== undefined);
    const reason = known ?? 'unexpected';
    return { reason, text: texts[reason], isOfSystem: known !== undefined || chain.some(hasCode) };
  } catch {
    return { reason: 'unexpected', text: texts.unexpected, isOfSystem: true };
  }
}

const maxChain = 16;

/** The error, its causes and the errors that it stands for. */
function chainOf(error: unknown): readonly Thrown[] {
  const found = new Set<Thrown>();
  const open = [error];
  while (open.length > 0 && found.size < maxChain) {
    const next = open.shift();
    if (typeof next !== 'object' || next === null || found.has(next)) continue;
    const thrown: Thrown = next;
    found.add(thrown);
    open.push(thrown.cause, ...(Array.isArray(thrown.errors) ? (thrown.errors.slice(0, maxChain) as unknown[]) : []));
  }
  return [...found];
}

const serviceCodes: Readonly<Record<string, FailureReason>> = {
  NotFound: 'not_found',
  Timeout: 'timed_out',
  Unavailable: 'unreachable',
  RateLimited: 'rate_limited',
};

/** The errors of `ctx.memory` and `ctx.files` are named after their codes, and their messages are for callers. */
function textOfService({ name, code, message }: Thrown): Reason | undefined {
  if (name !== code || typeof message !== 'string' || !(errorCodes as readonly unknown[]).includes(code))
    return undefined;
  const reason = Object.hasOwn(serviceCodes, String(code)) ? serviceCodes[String(code)] : undefined;
  return { reason: reason ?? 'unexpected', text: message, isOfSystem: true };
}

function knownReason({ name, message, code }: Thrown): FailureReason | undefined {
  if (typeof code === 'string' && Object.hasOwn(codes, code)) return codes[code];
  if (name === 'TimeoutError') return 'timed_out';
  if (name === 'SyntaxError') return 'unreadable';
  if (typeof message !== 'string') return undefined;
  if (message === 'fetch failed') return 'unreachable';
  const repeated = message
    .slice(0, searchedCharacters)
    .match(capitals)
    ?.find((word) => Object.hasOwn(codes, word));
  return repeated === undefined ? undefined : codes[repeated];
}

const hasCode = ({ code, errno, syscall }: Thrown): boolean => (code ?? errno ?? syscall) !== undefined;
