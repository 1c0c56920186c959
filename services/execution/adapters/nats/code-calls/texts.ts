import { errorCodes, fromUnknown, ServiceError, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import { failedCall } from '../../code-call-errors.ts';
import type { ReducedFields, ReduceRequest } from '../../../ports/code-calls.ts';

/** A call as one JSON text. */
export function toCallText({ agent, revision, current, given }: ReduceRequest): Buffer {
  const named = JSON.stringify({ agent, ...(revision === undefined ? {} : { revision }), given });
  return Buffer.concat([Buffer.from(`${named.slice(0, -1)},"current":`), toObject(current), Buffer.from('}')]);
}

/** @throws Error when it is no call. */
export function fromCallText(text: Buffer): ReduceRequest {
  const call = JSON.parse(text.toString()) as Partial<Record<keyof ReduceRequest, unknown>>;
  const { agent, revision, current, given } = call;
  const isCall = typeof agent === 'string' && isObject(current) && isObject(given);
  if (!isCall || (revision !== undefined && typeof revision !== 'string')) throw new Error('this is no call');
  return { agent, given, current: toFields(current), ...(revision === undefined ? {} : { revision }) };
}

export const toReplyText = (fields: ReducedFields): Buffer =>
  Buffer.concat([Buffer.from('{"fields":'), toObject(fields), Buffer.from('}')]);

/** A failure without its cause, which is for the log of the process that it was thrown in. */
export function toErrorText(error: unknown): Buffer {
  const { code, message, details } = error instanceof ServiceError ? error : failedCall(error);
  return Buffer.from(JSON.stringify({ error: { code, message, details } }));
}

/** @throws the error that the reply holds. */
export function fromReplyText(text: Buffer): ReducedFields {
  const { fields, error } = JSON.parse(text.toString()) as { readonly fields?: unknown; readonly error?: unknown };
  if (isObject(fields)) return toFields(fields);
  throw isObject(error) ? toError(error) : fromUnknown(new Error('this is no reply'));
}

function toError({ code, message, details }: Readonly<Record<string, unknown>>): ServiceError {
  if (!errorCodes.includes(code as ErrorCode) || typeof message !== 'string') return failedCall();
  return new ServiceError(code as ErrorCode, message, {
    details: Array.isArray(details) ? (details as ErrorDetail[]) : [],
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toFields = (values: Readonly<Record<string, unknown>>): ReducedFields =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]));

/** The values are JSON already. */
function toObject(fields: ReducedFields): Buffer {
  const parts = Object.entries(fields).flatMap(([name, json], index) => [
    Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:`),
    json,
  ]);
  return Buffer.concat([Buffer.from('{'), ...parts, Buffer.from('}')]);
}
