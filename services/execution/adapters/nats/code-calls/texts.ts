import { ServiceError, type ErrorCode, type ErrorDetail } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { readJson } from '@agent-workflow/protos/json-text';
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

/** What a reply holds: fields, or the error that the call ends with. `undefined` for what is no reply. */
export function fromReplyText(text: Buffer): ReducedFields | ServiceError | undefined {
  const { fields, error } = readReply(text);
  if (isObject(fields)) return toFields(fields);
  return isObject(error) ? toError(error) : undefined;
}

/** The worker may be another team's: its text may be larger than any write, or nested deeper than can be followed. */
function readReply(text: Buffer): Readonly<Record<string, unknown>> {
  try {
    const reply = readJson(text, { at: [], mostBytes: sizes.change });
    return isObject(reply) ? reply : {};
  } catch {
    return {};
  }
}

/** What the code of an agent refuses, and what keeps a worker from calling it: no other error is a worker's. */
const codesOfReplies: readonly unknown[] = ['Invalid', 'Internal', 'Unavailable'] satisfies ErrorCode[];
/** Faults that one refusal names at most: the code names one. */
const maxDetails = 20;

function toError({ code, message, details = [] }: Readonly<Record<string, unknown>>): ServiceError | undefined {
  const isError = codesOfReplies.includes(code) && typeof message === 'string';
  if (!isError || !Array.isArray(details) || details.length > maxDetails || !details.every(isDetail)) return undefined;
  return new ServiceError(code as ErrorCode, message, { details });
}

const isDetail = (value: unknown): value is ErrorDetail =>
  isObject(value) &&
  typeof value['msg'] === 'string' &&
  typeof value['type'] === 'string' &&
  Array.isArray(value['field']) &&
  value['field'].every((step) => typeof step === 'string' || Number.isSafeInteger(step));

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
