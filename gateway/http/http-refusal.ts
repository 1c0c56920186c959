import { ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  422: 'Invalid',
  429: 'RateLimited',
};

/** A refusal whose HTTP status, 400 to 499, somebody else chose. */
export class HttpRefusal extends ServiceError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(codes[status] ?? 'BadRequest', message);
    this.status = status;
  }
}
