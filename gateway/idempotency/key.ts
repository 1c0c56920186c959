import { hash } from 'node:crypto';
import type { Context } from '../http/context.ts';
import type { EndpointRequest } from '../http/endpoint.ts';
import { invalidAt } from '../http/fields.ts';

/** A request with an `Idempotency-Key`. */
export interface IdempotentRequest {
  /** A UUID made from owner, method, path and the caller's key. */
  readonly key: string;
  /** Of the query string and the body: the same key with another hash is refused. */
  readonly bodyHash: string;
  /** A repeated request that starts a run follows the run at once; it does not wait for the reply to the first. */
  readonly startsRun: boolean;
  /** Some of its requests start none: a reply that was stored stands for itself. */
  readonly mayStartNone?: true;
  /** It is about what belongs to another owner: whether the caller may have its reply is decided each time, so that the reply is not stored. */
  readonly isOfOthers?: true;
}

/** What an `Idempotency-Key` looks like: 1 to 255 visible ASCII characters. */
export const keyPattern = /^[\x21-\x7e]{1,255}$/;

/**
 * Reads the `Idempotency-Key` of a request; `undefined` when it has none.
 * @throws Invalid when the header is not 1 to 255 visible ASCII characters.
 */
export function readIdempotencyKey(
  { req, method, path, querystring, state }: Context,
  startsRun: boolean,
): IdempotentRequest | undefined {
  const given = req.headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !keyPattern.test(given)) {
    throw invalidAt(['header', 'Idempotency-Key'], 'must be 1 to 255 visible ASCII characters', 'idempotency_key');
  }
  const bodyHash = sha256([querystring, JSON.stringify(state.body ?? null)]).toString('base64url');
  return { key: toUuid(sha256([state.principal.owner, method, path, given])), bodyHash, startsRun };
}

/** Makes the ids of what the request creates, the same at every attempt. */
export const idMaker =
  ({ key }: Pick<IdempotentRequest, 'key'>) =>
  (what: string): string =>
    toUuid(sha256([key, what]));

type Requested = Pick<EndpointRequest, 'owner' | 'newId' | 'idempotency'>;

/** The request with ids that are the same wherever these texts are: what it creates is there once. An `Idempotency-Key` of its own counts over it. */
export function messageKeyed<T extends Requested>(request: T, texts: readonly string[]): T {
  if (request.idempotency.onceKey !== undefined) return request;
  const key = toUuid(sha256([request.owner, ...texts]));
  return { ...request, newId: idMaker({ key }), idempotency: { onceKey: key } };
}

/** Each part is preceded by its length, so that two different lists of parts never hash alike. */
const sha256 = (parts: readonly string[]): Buffer =>
  hash('sha256', parts.map((part) => `${String(Buffer.byteLength(part))}:${part}`).join(''), 'buffer');

/** The first 16 bytes of a hash as a UUIDv8 (RFC 9562, section 5.8). */
function toUuid(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
