import { ServiceError } from '@agent-workflow/kit/errors';
import { HttpRefusal } from '../../../http/http-refusal.ts';
import type { Fields } from './fields.ts';

/** Codes of JSON-RPC and of MCP. */
export const rpcCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** Of the eras with a handshake. */
  resourceNotFound: -32_002,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

interface RpcErrorOptions {
  readonly data?: Fields;
  /** The HTTP status; 200 where it is not given. */
  readonly status?: number;
}

/** An error that is answered with a code of JSON-RPC. */
export class RpcError extends ServiceError {
  readonly rpcCode: number;
  readonly data: Fields | undefined;
  readonly status: number;

  constructor(rpcCode: number, message: string, { data, status = 200 }: RpcErrorOptions = {}) {
    super('BadRequest', message);
    this.rpcCode = rpcCode;
    this.data = data;
    this.status = status;
  }
}

export const invalidParams = (message: string, data?: Fields): RpcError =>
  new RpcError(rpcCodes.invalidParams, message, data && { data });

/** What the client has to declare for a request. */
export const missingCapability = (needed: Fields): RpcError =>
  new RpcError(rpcCodes.missingCapability, `the client must declare ${Object.keys(needed).join(', ')}`, {
    data: { requiredCapabilities: needed },
    status: 400,
  });

/** An error as the member of a reply. */
export const errorBody = ({ rpcCode, message, data }: RpcError): Fields => ({
  code: rpcCode,
  message,
  ...(data && { data }),
});

/** Codes of errors that a client reads as what it has sent. */
const ofParams: ReadonlySet<string> = new Set(['BadRequest', 'Invalid', 'NotFound', 'Conflict', 'TooLarge']);

/** Whether an error is about what was sent, and not one whose HTTP status says what is to be done. */
export const isOfParams = (error: ServiceError): boolean => !(error instanceof HttpRefusal) && ofParams.has(error.code);
