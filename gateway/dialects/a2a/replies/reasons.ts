import { ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';

/** An error of the protocol: its code in JSON-RPC, and the status of the REST binding in numbers and in words. */
interface Reason {
  readonly rpc: number;
  readonly http: number;
  readonly status: string;
  /** In the words of this service. */
  readonly code: ErrorCode;
}

/** The errors of A2A, by the reason that their details name. */
export const reasons = {
  TASK_NOT_FOUND: { rpc: -32001, http: 404, status: 'NOT_FOUND', code: 'NotFound' },
  TASK_NOT_CANCELABLE: { rpc: -32002, http: 400, status: 'FAILED_PRECONDITION', code: 'BadRequest' },
  UNSUPPORTED_OPERATION: { rpc: -32004, http: 400, status: 'FAILED_PRECONDITION', code: 'BadRequest' },
  CONTENT_TYPE_NOT_SUPPORTED: { rpc: -32005, http: 400, status: 'INVALID_ARGUMENT', code: 'BadRequest' },
  VERSION_NOT_SUPPORTED: { rpc: -32009, http: 400, status: 'FAILED_PRECONDITION', code: 'BadRequest' },
  INVALID_PARAMS: { rpc: -32602, http: 400, status: 'INVALID_ARGUMENT', code: 'Invalid' },
  METHOD_NOT_FOUND: { rpc: -32601, http: 404, status: 'UNIMPLEMENTED', code: 'BadRequest' },
  INVALID_REQUEST: { rpc: -32600, http: 400, status: 'INVALID_ARGUMENT', code: 'BadRequest' },
  PARSE_ERROR: { rpc: -32700, http: 400, status: 'INVALID_ARGUMENT', code: 'BadRequest' },
} as const satisfies Readonly<Record<string, Reason>>;
export type ReasonName = keyof typeof reasons;

/** The type of a detail that has a reason of the protocol. */
const own = 'a2a:';

/** The error of the protocol with this reason. */
export const a2aError = (reason: ReasonName, message: string): ServiceError =>
  new ServiceError(reasons[reason].code, message, { details: [{ field: [], msg: message, type: `${own}${reason}` }] });

/** The reason that the type of a detail has; `undefined` for any other. */
export function reasonIn(type: string | undefined): ReasonName | undefined {
  const name = type?.startsWith(own) === true ? type.slice(own.length) : '';
  return Object.hasOwn(reasons, name) ? (name as ReasonName) : undefined;
}
