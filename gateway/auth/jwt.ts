import { ServiceError } from '@agent-workflow/kit/errors';
import koaJwt from 'koa-jwt';
import type { Authenticate } from '../http/access.ts';
import type { Context } from '../http/context.ts';
import type { Algorithm } from './algorithms.ts';
import { bearerOf } from './bearer.ts';
import type { Issuer } from './issuers.ts';
import type { Keys } from './keys.ts';
import { withGivenRoles } from './roles.ts';
import { principalOf, userCopy } from './user.ts';

type Json = Readonly<Record<string, unknown>>;

/** The parts of a token, not verified. */
interface Token {
  readonly header: Json;
  readonly claims: Json;
}

/**
 * Reads a token strictly: three parts in canonical base64url; header and claims are JSON objects in UTF-8 without duplicate
 * members. So every reader of an accepted token reads the same header and claims. `undefined` for any other text.
 */
export function readToken(text: string): Token | undefined {
  const parts = text.split('.');
  if (parts.length !== 3 || !parts.every(isCanonical)) return undefined;
  const header = readObject(parts[0] ?? '');
  const claims = readObject(parts[1] ?? '');
  return header && claims && isPlain(header) ? { header, claims } : undefined;
}

const isCanonical = (part: string): boolean =>
  part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readObject(part: string): Json | undefined {
  try {
    const text = decoder.decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(text);
    return isObject(value) && membersWritten(text) === membersOf(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The number of object members in the text: each has exactly one colon outside of strings. */
function membersWritten(json: string): number {
  let count = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') index += 1;
    else if (!inString && character === ':') count += 1;
  }
  return count;
}

/** The number of members of the value and of the objects in it: fewer than in the text when a name is there twice. */
function membersOf(value: unknown): number {
  let count = 0;
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inner: unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += inner.length;
    open.push(...inner);
  }
  return count;
}

const types = /^(application\/)?(at\+)?jwt$/i;

/**
 * Whether the header is that of a signed JWT with plain claims: no critical extension (`crit`, and `b64`, which needs it), no
 * nested token (`cty`), no other kind of token (`typ`). Keys and key addresses in a header (`jku`, `x5u`, `jwk`, `x5c`) are
 * ignored here and everywhere.
 */
function isPlain({ typ = 'JWT', ...header }: Json): boolean {
  if ('crit' in header || 'b64' in header || 'cty' in header) return false;
  return typeof typ === 'string' && types.test(typ);
}

/** How far the clock of the issuer may be ahead: for `nbf` and `iat`. */
const toleranceSeconds = 30;

interface JwtOptions {
  readonly issuers: readonly Issuer[];
  /** How long after its `exp` a token is still taken, in seconds. */
  readonly expTolerance: number;
  /** The paths to the claims in which roles stand, beside `roles` and `role`. */
  readonly rolePlaces: readonly (readonly string[])[];
}

/**
 * Authenticates callers by a JWT as bearer token. Its `iss` says whose keys, algorithms and audience count: a token of another issuer is refused
 * before a key is sought. Every refusal has the same text, because the failed check would help only
 * forgers. The log names the failed check, in words that contain nothing of the token.
 * @throws Unauthenticated; Unavailable when no key of the issuer could be read.
 */
export function jwtAuthentication({ issuers, expTolerance, rolePlaces }: JwtOptions): Authenticate {
  const named = new Map(issuers.map((issuer) => [issuer.name, { issuer, verify: verifier(issuer) }]));
  return async (ctx) => {
    const token = bearerOf(ctx);
    if (token === undefined) throw new ServiceError('Unauthenticated', 'a bearer token is needed');
    const read = readToken(token);
    if (!read) throw refusal('not a plain signed token');
    const by = named.get(textOf(read.claims['iss'])) ?? named.get(undefined);
    if (!by) throw refusal('jwt issuer invalid');
    const claims = await by.verify(ctx);
    const fault = timeFault(claims, Date.now() / 1000, expTolerance);
    if (fault !== undefined) throw refusal(fault);
    const user = withGivenRoles(copyOf(claims), by.issuer.roles, rolePlaces);
    const principal = principalOf(user, by.issuer.owners);
    if (!principal) throw refusal('no claim names a user');
    const { exp } = claims;
    if (typeof exp === 'number') ctx.state.expiresAt = (exp + expTolerance) * 1000;
    return principal;
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Claims have the bounds that any user context has. */
function copyOf(claims: Claims): Claims {
  try {
    return userCopy(claims) as Claims;
  } catch {
    throw refusal('the claims are nested too deep, too large, or have the key __proto__');
  }
}

type Claims = Readonly<Record<string, unknown>>;

function verifier({ name: issuer, audience, algorithms, keys }: Issuer): (ctx: Context) => Promise<Claims> {
  const options = {
    key: 'claims',
    getToken: (ctx: Pick<Context, 'req'>) => bearerOf(ctx) ?? null,
    secret: findKey(algorithms, keys),
    algorithms: [...algorithms],
    // Its only tolerance counts for `nbf` and `exp`.
    ...{ clockTolerance: toleranceSeconds, ignoreExpiration: true },
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience: [...audience] }),
  };
  const middleware = koaJwt(options);
  return async (ctx) => {
    try {
      await middleware(ctx, () => Promise.resolve());
    } catch (error) {
      throw causeOf(error);
    }
    return ctx.state.claims ?? {};
  };
}

/** Finds a key only for tokens of the issuer's algorithms, so that other tokens cause no request to the issuer. */
const findKey =
  (algorithms: readonly Algorithm[], keys: Keys): koaJwt.SecretLoader =>
  async ({ alg, kid }: Claims) => {
    const algorithm = algorithms.find((each) => each === alg);
    if (!algorithm) throw refusal("signed by another algorithm than the issuer's");
    if (kid !== undefined && typeof kid !== 'string') throw refusal('kid is no text');
    // The types of koa-jwt allow strings and bytes only; jsonwebtoken, which it calls, takes the KeyObject.
    return (await keys.find(kid, algorithm)) as unknown as Buffer;
  };

/** koa-jwt turns every error into a 401; that no key could be read is not the caller's fault. */
function causeOf(error: unknown): ServiceError {
  const cause: unknown = error instanceof Error && 'originalError' in error ? error.originalError : error;
  if (cause instanceof ServiceError) return cause;
  return refusal(checkOf(cause));
}

/** The failed check, from the message of jsonwebtoken. Other messages are not logged: they may contain parts of the token. */
function checkOf(cause: unknown): string {
  const words = cause instanceof Error ? cause.message : '';
  return checks.find((check) => words.startsWith(check)) ?? 'not verified';
}

const checks = [
  'jwt not active',
  'jwt audience invalid',
  'jwt issuer invalid',
  'invalid signature',
  'invalid algorithm',
] as const;

const refusal = (check: string): ServiceError =>
  new ServiceError('Unauthenticated', 'the token is not valid', { cause: new Error(check) });

/** The largest time of a Date, in seconds. */
const endOfTime = 8.64e12;

/** Why the times of a token do not hold; `undefined` where they do. `exp` is required. `nbf` was checked together with the signature. */
function timeFault({ exp, iat = 0, nbf = 0 }: Claims, now: number, expTolerance: number): string | undefined {
  const isTime = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= endOfTime;
  if (!isTime(exp) || !isTime(nbf) || !isTime(iat)) return 'exp is missing, or exp, nbf or iat is not a time';
  if (now >= exp + expTolerance) return 'jwt expired';
  return iat > now + toleranceSeconds ? 'iat is in the future' : undefined;
}
