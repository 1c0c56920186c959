import { faultText, ServiceError, type ErrorDetail } from '@agent-workflow/kit/errors';

/** A location in a request, as `["body", "messages", 0, "role"]`. */
export type Loc = readonly (string | number)[];

/** A fault whose location in the request is known: the gateway found it. */
export interface LocatedDetail extends ErrorDetail {
  readonly loc: Loc;
  /** Why code of the agent failed. */
  readonly reason?: string | undefined;
  readonly parameter?: string | undefined;
}

export const isLocated = (detail: ErrorDetail): detail is LocatedDetail => 'loc' in detail;

/** A fault with a location that the gateway itself knows. */
export const located = (detail: Omit<LocatedDetail, 'field'>): LocatedDetail => ({ ...detail, field: detail.loc });

/** `Invalid` for a value at `loc` of the wrong type, range or kind. */
export const invalidAt = (loc: Loc, msg: string, type = 'value_error'): ServiceError =>
  new ServiceError('Invalid', faultText(loc, msg), { details: [located({ loc, msg, type })] });
