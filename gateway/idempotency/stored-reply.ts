import { ServiceError, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import { statusOf } from '../http/errors.ts';
import { jsonBytes, sizeOf, type JsonParts } from '../http/json.ts';

/** A larger reply is not stored, only that the request succeeded: the reply is then made again from the records of the services. */
const maxStoredBytes = 1024 * 1024;

/** Stands for a reply that is made again from the records of the services. */
export const doneMarker = jsonBytes({ done: true });

/**
 * The JSON under which a reply or a refusal is stored. `undefined` for a refusal that depends on the moment (409, 429 and
 * everything from 499 on): the next attempt may succeed.
 */
export function toStored(reply: string | JsonParts | ServiceError): Uint8Array | undefined {
  if (reply instanceof ServiceError && dependsOnMoment(statusOf(reply.code))) return undefined;
  if (!(reply instanceof ServiceError) && typeof reply !== 'string' && sizeOf(reply) > maxStoredBytes)
    return doneMarker;
  const replyJson = jsonBytes(reply instanceof ServiceError ? { refused: refusalOf(reply) } : { data: textOf(reply) });
  return replyJson.length <= maxStoredBytes ? replyJson : doneMarker;
}

/**
 * The reply that was stored; `undefined` for {@link doneMarker}.
 * @throws the refusal, when a refusal was stored.
 */
export function fromStored(json: string): string | undefined {
  const { data, done, refused } = JSON.parse(json) as { data?: string; done?: true; refused?: Refused };
  if (data !== undefined || done) return data;
  if (refused) throw new ServiceError(refused.code, refused.message, { details: refused.details });
  throw new ServiceError('Internal', 'the stored reply to an idempotent request cannot be read');
}

const dependsOnMoment = (status: number): boolean => status === 409 || status === 429 || status >= 499;

const textOf = (reply: string | JsonParts): string =>
  typeof reply === 'string' ? reply : Buffer.concat(reply.json).toString();

/** A refusal as it is stored. */
interface Refused {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

const refusalOf = ({ code, message, details }: ServiceError): Refused => ({ code, message, details });
