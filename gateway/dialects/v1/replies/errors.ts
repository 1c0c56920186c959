import type { ErrorCode } from '@agent-workflow/kit/errors';
import type { RefusalCode } from '../../../http/dialect.ts';

/** The name of each error code in the error envelope. */
const names = {
  BadRequest: 'BAD_REQUEST',
  Unauthenticated: 'AUTHENTICATION_FAILED',
  PermissionDenied: 'PERMISSION_DENIED',
  NotFound: 'RESOURCE_NOT_FOUND',
  Conflict: 'CONFLICT',
  Stale: 'CONFLICT',
  TooLarge: 'PAYLOAD_TOO_LARGE',
  Invalid: 'VALIDATION_ERROR',
  RateLimited: 'RATE_LIMITED',
  Cancelled: 'CANCELLED',
  Internal: 'INTERNAL_ERROR',
  NodeFailed: 'NODE_ERROR',
  GraphFailed: 'GRAPH_ERROR',
  StorageFailed: 'STORAGE_ERROR',
  Unavailable: 'SERVICE_UNAVAILABLE',
  Timeout: 'TIMEOUT',
} as const satisfies Readonly<Record<ErrorCode, string>>;

/** The names of refusals that no service makes. */
const namesOfHttp = {
  MethodNotAllowed: 'METHOD_NOT_ALLOWED',
  UnsupportedMediaType: 'UNSUPPORTED_MEDIA_TYPE',
  RangeNotSatisfiable: 'RANGE_NOT_SATISFIABLE',
} as const satisfies Readonly<Record<Exclude<RefusalCode, ErrorCode>, string>>;

const allNames = { ...names, ...namesOfHttp };

/** The name of a code in the error envelope. */
export const wireCodeOf = <Code extends RefusalCode>(code: Code): (typeof allNames)[Code] => allNames[code];

const byName = new Map<string, ErrorCode>(Object.entries(names).map(([code, name]) => [name, code as ErrorCode]));

/** The error code of a name in the error envelope; `Internal` for an unknown name. */
export const errorOf = (name: string): ErrorCode => byName.get(name) ?? 'Internal';
