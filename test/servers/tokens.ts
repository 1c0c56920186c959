import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { Algorithm } from '@agent-workflow/gateway/auth/algorithms';

/** What a token says: a value that becomes JSON, or the very text. */
export type Part = Readonly<Record<string, unknown>> | string;

interface Draft {
  readonly header?: Part;
  readonly claims?: Part;
}

/** The base64url text of a part. */
export const encode = (part: Part | Uint8Array): string => {
  const given = typeof part === 'string' || part instanceof Uint8Array ? part : JSON.stringify(part);
  return Buffer.from(given).toString('base64url');
};

/** Seconds since 1970, `seconds` from now. */
export const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

export const issuer = 'https://issuer.test/';
export const audience = 'agent-workflow';

/** What every check lets through. */
export const goodClaims = (more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => ({
  user_id: 'ada',
  iss: issuer,
  aud: audience,
  iat: inSeconds(-5),
  exp: inSeconds(600),
  ...more,
});

/** A token signed with the algorithm; a draft's header and claims replace the usual ones. */
export function makeToken(
  algorithm: Algorithm,
  key: KeyObject | string | Uint8Array,
  { header = { alg: algorithm, typ: 'JWT' }, claims = goodClaims() }: Draft = {},
): string {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${signature(algorithm, key, content)}`;
}

/** The signature of any text. */
export function signature(algorithm: Algorithm, key: KeyObject | string | Uint8Array, content: string): string {
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith('HS')) return createHmac(hash, key).update(content).digest('base64url');
  const dsaEncoding = algorithm.startsWith('ES') ? ({ dsaEncoding: 'ieee-p1363' } as const) : {};
  return sign(hash, Buffer.from(content), { key: key as KeyObject, ...dsaEncoding }).toString('base64url');
}

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const rsaPair = (bits = 2048): Pair => generateKeyPairSync('rsa', { modulusLength: bits });
export const ecPair = (namedCurve: string): Pair => generateKeyPairSync('ec', { namedCurve });

/** A pair that fits the algorithm. */
export const pairFor = (algorithm: Algorithm): Pair =>
  algorithm.startsWith('RS')
    ? rsaPair()
    : ecPair({ ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[algorithm as 'ES256']);

export const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

/** A public key as a member of a key set. */
export const jwkOf = (
  key: KeyObject,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> => ({ ...key.export({ format: 'jwk' }), ...more });
