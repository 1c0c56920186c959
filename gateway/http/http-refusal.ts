import { ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'NotFound',
  408: 'Timeout',
  409: 'Conflict',
  413: 'TooLarge',
  422: 'Invalid',
  429: 'RateLimited',
};

/** A refusal with an HTTP status of its own, 400 to 499: one that an authentication backend chose, or that no service knows. */
export class HttpRefusal extends ServiceError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(codes[status] ?? 'BadRequest', message);
    this.status = status;
  }
}
