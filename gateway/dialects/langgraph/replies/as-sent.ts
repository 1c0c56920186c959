import { faultText, isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import { located, type Loc } from '../../../http/fields.ts';

/**
 * Makes what turns an error of a service, which names what it was given, into one that names what the request has in its place.
 * `names`: where that stands, by the first name of the service's field.
 */
export const asSent =
  (names: Readonly<Record<string, Loc>>) =>
  (error: unknown): never => {
    const [detail] = isServiceError(error) ? error.details : [];
    if (!detail || !isServiceError(error)) throw error;
    const [name, ...rest] = detail.field[0] === 'body' ? detail.field.slice(1) : detail.field;
    const place = Object.hasOwn(names, String(name)) ? names[String(name)] : undefined;
    if (!place) throw error;
    const { msg, type } = detail;
    const loc = [...place, ...rest];
    throw new ServiceError(error.code, faultText(loc, msg), { details: [located({ loc, msg, type })], cause: error });
  };
