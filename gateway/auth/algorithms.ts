import type { KeyObject } from 'node:crypto';

/** The algorithms that a token may be signed with, by the names of RFC 7518: those that `jsonwebtoken` verifies, without PS. */
export const algorithms = ['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'] as const;

export type Algorithm = (typeof algorithms)[number];

/** What a key must be like. A secret must be at least as long as the hash (RFC 7518 §3.2). */
type Needed =
  | { readonly type: 'secret'; readonly minBytes: number }
  | { readonly type: 'rsa'; readonly minBits: number }
  | { readonly type: 'ec'; readonly curve: string };

const rsa: Needed = { type: 'rsa', minBits: 2048 };

const needed: Readonly<Record<Algorithm, Needed>> = {
  HS256: { type: 'secret', minBytes: 32 },
  HS384: { type: 'secret', minBytes: 48 },
  HS512: { type: 'secret', minBytes: 64 },
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  ES256: { type: 'ec', curve: 'prime256v1' },
  ES384: { type: 'ec', curve: 'secp384r1' },
  ES512: { type: 'ec', curve: 'secp521r1' },
};

/** The bytes that a secret must have, where the same secret signs and verifies. */
export function minSecretBytes(algorithm: Algorithm): number | undefined {
  const key = needed[algorithm];
  return key.type === 'secret' ? key.minBytes : undefined;
}

/** Why a public key does not fit the algorithm; `undefined` when it does. */
export function misfit(algorithm: Algorithm, key: KeyObject): string | undefined {
  const { modulusLength = 0, namedCurve = 'none' } = key.asymmetricKeyDetails ?? {};
  const type = key.asymmetricKeyType ?? key.type;
  const wanted = needed[algorithm];
  if (type !== wanted.type) return `is of type ${type}; ${algorithm} needs ${wanted.type}`;
  if (wanted.type === 'rsa' && modulusLength < wanted.minBits)
    return `has ${modulusLength} bits; at least ${wanted.minBits} are needed`;
  if (wanted.type === 'ec' && namedCurve !== wanted.curve)
    return `is on the curve ${namedCurve}; ${algorithm} needs ${wanted.curve}`;
  return undefined;
}
