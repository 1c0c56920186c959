import type { KeyObject } from 'node:crypto';

/** The algorithms that a token may be signed with, by the names of RFC 7518. */
export const algorithms = ['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'] as const;

export type Algorithm = (typeof algorithms)[number];

/** Whether the same secret signs and verifies. */
export const isSymmetric = (algorithm: Algorithm): boolean => algorithm.startsWith('HS');

/** A secret must be at least as long as the hash (RFC 7518 §3.2). */
export const minSecretBytes = (algorithm: Algorithm): number => Number(algorithm.slice(2)) / 8;

const curves: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
};

const minRsaBits = 2048;

/** Why a public key does not fit the algorithm; `undefined` when it does. */
export function misfit(algorithm: Algorithm, key: KeyObject): string | undefined {
  const { modulusLength = 0, namedCurve = 'none' } = key.asymmetricKeyDetails ?? {};
  const type = key.asymmetricKeyType ?? key.type;
  const needed = algorithm.startsWith('RS') ? 'rsa' : 'ec';
  if (type !== needed) return `is of type ${type}; ${algorithm} needs ${needed}`;
  if (needed === 'rsa' && modulusLength < minRsaBits)
    return `has ${modulusLength} bits; at least ${minRsaBits} are needed`;
  const curve = curves[algorithm];
  if (needed === 'ec' && namedCurve !== curve)
    return `is on the curve ${namedCurve}; ${algorithm} needs ${String(curve)}`;
  return undefined;
}
