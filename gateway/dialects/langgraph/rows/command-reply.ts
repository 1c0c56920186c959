import { isServiceError, type ErrorCode, type ServiceError } from '@agent-workflow/kit/errors';

/** Why a command is refused, in the protocol's words. */
type CommandCode =
  | 'invalid_argument'
  | 'unknown_command'
  | 'unknown_error'
  | 'no_such_run'
  | 'no_such_subscription'
  | 'no_such_interrupt'
  | 'permission_denied'
  | 'not_supported';

/** A command that is refused: the reply to its request is a success that says so. */
export class CommandRefusal extends Error {
  override readonly name = 'CommandRefusal';
  readonly code: CommandCode;
  constructor(code: CommandCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a command did. */
export interface CommandResult {
  readonly result: object;
  /** The number of the thread up to which events are older than what the command did. Absent: it did nothing to the thread. */
  readonly appliedThrough?: number;
}

export const success = (id: number, { result, appliedThrough }: CommandResult): string =>
  JSON.stringify({
    ...{ type: 'success', id, result },
    ...(appliedThrough !== undefined && { meta: { applied_through_seq: appliedThrough } }),
  });

/** `id`: of the command; null where it has none that can be read. */
export const refusal = (id: number | null, { code, message }: CommandRefusal): string =>
  JSON.stringify({ type: 'error', id, error: code, message });

const codes: Partial<Readonly<Record<ErrorCode, CommandCode>>> = {
  BadRequest: 'invalid_argument',
  Invalid: 'invalid_argument',
  TooLarge: 'invalid_argument',
  Conflict: 'invalid_argument',
  NotFound: 'invalid_argument',
  PermissionDenied: 'permission_denied',
};

/** A refusal in the protocol's words; `undefined` for a failure of the service, which is none of the command. */
export function toCommandRefusal(error: unknown): CommandRefusal | undefined {
  if (error instanceof CommandRefusal) return error;
  if (!isServiceError(error)) return undefined;
  const code = codes[error.code];
  return code && new CommandRefusal(isOfAnswer(error) ? 'no_such_interrupt' : code, textOf(error));
}

/** Whether the answer is what is refused: to no open question. */
const isOfAnswer = ({ details }: ServiceError): boolean => details.some(({ field }) => field.includes('resume'));

const textOf = ({ message, details: [first] }: ServiceError): string =>
  first?.type === 'whole_text' ? first.msg : message;
