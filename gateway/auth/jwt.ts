import { ServiceError } from '@agent-workflow/kit/errors';
import koaJwt from 'koa-jwt';
import type { Authenticate } from '../http/access.ts';
import type { Context } from '../http/context.ts';
import { bearerOf } from './bearer.ts';
import type { Keys } from './keys.ts';
import type { AuthConfig } from './settings.ts';
import { readToken } from './token.ts';
import { principalOf } from './user.ts';

/** How far the clocks of issuer and service may be apart. */
const toleranceSeconds = 30;

export interface JwtOptions {
  readonly config: Pick<AuthConfig, 'JWT_ALGORITHM' | 'JWT_ISSUER' | 'JWT_AUDIENCE'>;
  readonly keys: Keys;
}

/**
 * The principal that a bearer token names. Every refusal reads the same to the caller: which check failed helps only who forges.
 * The log names the check, in words that hold nothing of the token.
 * @throws Unauthenticated; Unavailable when no key of the issuer could be read.
 */
export function jwtAuthentication({ config, keys }: JwtOptions): Authenticate {
  const verify = verifier({ config, keys });
  return async (ctx) => {
    const token = bearerOf(ctx);
    if (token === undefined) throw new ServiceError('Unauthenticated', 'a bearer token is needed');
    if (!readToken(token)) throw refusal('not a plain signed token');
    const claims = await verify(ctx);
    if (!isTimely(claims, Date.now() / 1000)) throw refusal('exp is missing, or a time is none or lies in the future');
    const principal = principalOf(claims);
    if (!principal) throw refusal('no claim names a user');
    return principal;
  };
}

type Claims = Readonly<Record<string, unknown>>;

function verifier({ config, keys }: JwtOptions): (ctx: Context) => Promise<Claims> {
  const { JWT_ALGORITHM: algorithm, JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = config;
  const options = {
    key: 'claims',
    getToken: (ctx: Pick<Context, 'req'>) => bearerOf(ctx) ?? null,
    secret: findKey(algorithm, keys),
    algorithms: [algorithm],
    clockTolerance: toleranceSeconds,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
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

/** Looks for a key only when the token could be signed with it: a stranger's token makes no request to the issuer. */
const findKey =
  (algorithm: string, keys: Keys): koaJwt.SecretLoader =>
  async ({ alg, kid }: Claims) => {
    if (alg !== algorithm) throw refusal('signed by another algorithm than JWT_ALGORITHM');
    if (kid !== undefined && typeof kid !== 'string') throw refusal('kid is no text');
    // Its types know texts and bytes alone; jsonwebtoken below it takes the key object, which cannot be misread.
    return (await keys.find(kid)) as unknown as Buffer;
  };

/** koa-jwt makes a 401 of everything; that no key can be read is not the caller's fault. */
function causeOf(error: unknown): ServiceError {
  const cause: unknown = error instanceof Error && 'originalError' in error ? error.originalError : error;
  if (cause instanceof ServiceError) return cause;
  return refusal(checkOf(cause));
}

/** The check that failed, by the words of jsonwebtoken; what it says of other things may hold parts of the token. */
function checkOf(cause: unknown): string {
  const words = cause instanceof Error ? cause.message : '';
  return checks.find((check) => words.startsWith(check)) ?? 'not verified';
}

const checks = [
  'jwt expired',
  'jwt not active',
  'jwt audience invalid',
  'jwt issuer invalid',
  'invalid signature',
  'invalid algorithm',
] as const;

const refusal = (check: string): ServiceError =>
  new ServiceError('Unauthenticated', 'the token is not valid', { cause: new Error(check) });

/** The last moment of a Date, in seconds: what lies beyond is no time. */
const endOfTime = 8.64e12;

/** `exp` must be there; what is issued in the future is not issued. Past and `nbf` were checked with the signature. */
function isTimely({ exp, iat = 0, nbf = 0 }: Claims, now: number): boolean {
  const isTime = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= endOfTime;
  return isTime(exp) && isTime(nbf) && isTime(iat) && iat <= now + toleranceSeconds;
}
