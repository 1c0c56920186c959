import { choice, integer, text, type Settings, type Values } from '@agent-workflow/kit/env';
import { algorithms } from './algorithms.ts';

/** Settings of authentication and authorization; those with `JWT_` count while `auth` is `jwt`. */
export const authSettings = {
  API_KEYS: choice(
    ['on', 'off'],
    'off',
    'Whether callers are let in by API keys, too, which `agent-workflow keys` makes',
  ),
  AUTH_TIMEOUT_MS: integer(
    5000,
    'How long a custom authentication or authorization backend, or the key set, may take, in milliseconds',
    { min: 1, max: 600_000 },
  ),
  JWT_ALGORITHM: choice(algorithms, 'HS256', 'The one algorithm that tokens may be signed with'),
  JWT_SECRET_KEY: text(
    undefined,
    'The secret of HS algorithms, at least as long as the hash; for the others it may hold the public key',
    { secret: true },
  ),
  JWT_PUBLIC_KEY: text(undefined, 'The public key (or certificate) of RS and ES algorithms, in PEM'),
  JWT_JWKS_URL: text(undefined, 'Where the issuer publishes its public keys (JWKS), in place of a key'),
  JWT_JWKS_COOLDOWN_SECONDS: integer(
    30,
    'The key set is fetched for an unknown key at most once in this time, in seconds',
    {
      min: 1,
      max: 86_400,
    },
  ),
  JWT_JWKS_MAX_AGE_SECONDS: integer(600, 'Age after which the key set is fetched again in the background, in seconds', {
    min: 1,
    max: 86_400,
  }),
  JWT_EXP_TOLERANCE_SECONDS: integer(
    0,
    'How long after its `exp` a token is still taken, in seconds; more than the clocks differ only lengthens the life of a stolen token',
    { min: 0, max: 300 },
  ),
  JWT_ISSUER: text(undefined, 'The `iss` that tokens must carry; unset, any'),
  JWT_AUDIENCE: text(undefined, 'The `aud` that tokens must carry, alone or among others; unset, any'),
  JWT_ISSUERS: text(
    undefined,
    'Further issuers of tokens: a JSON list of `{"issuer", "audience", "algorithms", "owner_prefix", "roles"}`, each with `"jwks_url"` or found by OpenID Connect Discovery, or a file with that list',
  ),
} satisfies Settings;

export type AuthConfig = Values<typeof authSettings>;
