import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A value as JSON bytes. */
export const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** How many bytes a text takes in a JSON list. */
export const textBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) + 1;

/**
 * Reads the JSON object that a request carries as bytes.
 * @throws Invalid at `at` when it is none.
 */
export function readObject(json: Uint8Array, at: ErrorDetail['field']): JsonObject {
  const value = parse(json);
  if (!isObject(value)) throw invalid(at, 'must be a JSON object', 'object_type');
  return value;
}

/** Whether `value` is an object in the sense of JSON. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The own field of an object: what stands on prototypes is not there. */
export const fieldOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function parse(json: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString());
  } catch {
    return undefined;
  }
}
