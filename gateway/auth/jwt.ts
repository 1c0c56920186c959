import { isServiceError, ServiceError } from '@agent-workflow/kit/errors';
import koaJwt from 'koa-jwt';
import type { Authenticate } from '../middleware/authenticate.ts';
import type { Context } from '../middleware/context.ts';
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
 * The principal that a bearer token names. Every refusal reads the same: which check failed helps only who forges.
 * @throws Unauthenticated; Unavailable when no key of the issuer could be read.
 */
export function jwtAuthentication({ config, keys }: JwtOptions): Authenticate {
  const verify = verifier({ config, keys });
  return async (ctx) => {
    const token = bearerOf(ctx);
    if (token === undefined) throw refusal('a bearer token is needed');
    if (!readToken(token)) throw refusal();
    const claims = await verify(ctx);
    const principal = isTimely(claims, Date.now() / 1000) ? principalOf(claims) : undefined;
    if (!principal) throw refusal();
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
    if (alg !== algorithm || (kid !== undefined && typeof kid !== 'string')) throw refusal();
    // Its types know texts and bytes alone; jsonwebtoken below it takes the key object, which cannot be misread.
    return (await keys.find(kid)) as unknown as Buffer;
  };

/** koa-jwt makes a 401 of everything; that no key can be read is not the caller's fault. */
function causeOf(error: unknown): ServiceError {
  const cause: unknown = error instanceof Error && 'originalError' in error ? error.originalError : error;
  return isServiceError(cause, 'Unavailable') ? cause : refusal();
}

const refusal = (message = 'the token is not valid'): ServiceError => new ServiceError('Unauthenticated', message);

/** The last moment of a Date, in seconds: what lies beyond is no time. */
const endOfTime = 8.64e12;

/** `exp` must be there; what is issued in the future is not issued. Past and `nbf` were checked with the signature. */
function isTimely({ exp, iat = 0, nbf = 0 }: Claims, now: number): boolean {
  const isTime = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= endOfTime;
  return isTime(exp) && isTime(nbf) && isTime(iat) && iat <= now + toleranceSeconds;
}
