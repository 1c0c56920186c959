import { createPublicKey, type KeyObject, createSecretKey } from 'node:crypto';
import { ConfigError } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import { addressFault } from '../http/address-fault.ts';
import { minSecretBytes, misfit, type Algorithm } from './algorithms.ts';
import { openJwks } from './jwks.ts';
import type { AuthConfig } from './settings.ts';

/** The keys that verify tokens. */
export interface Keys extends Disposable {
  /** The setting that they come from, for the line that is printed at the start. */
  readonly origin: string;
  /** The key for a token with this `kid` and algorithm. @throws as `find` of {@link openJwks} does. */
  readonly find: (kid: unknown, algorithm: Algorithm) => KeyObject | Promise<KeyObject>;
}

interface KeysOptions {
  readonly config: AuthConfig;
  readonly log: Log;
}

/** The settings of which one holds the key, or says where it is. */
const keySettings = ['JWT_SECRET_KEY', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL'] as const;

/** Whether any of them is set. */
export const hasKeys = (config: Pick<AuthConfig, (typeof keySettings)[number]>): boolean =>
  keySettings.some((name) => config[name]);

/**
 * Opens the keys of the settings.
 * @throws ConfigError for a key that is missing, too weak, or does not fit `JWT_ALGORITHM`.
 */
export function openKeys({ config, log }: KeysOptions): Keys {
  const { JWT_ALGORITHM: algorithm } = config;
  const given = keySettings.filter((name) => config[name]);
  const [name, more] = given;
  const minBytes = minSecretBytes(algorithm);
  const usable = minBytes !== undefined ? 'JWT_SECRET_KEY' : 'one of JWT_PUBLIC_KEY, JWT_JWKS_URL, JWT_SECRET_KEY';
  if (name === undefined) throw new ConfigError(`auth is jwt with ${algorithm}: ${usable} must be set`);
  if (more !== undefined || (minBytes !== undefined && name !== 'JWT_SECRET_KEY'))
    throw new ConfigError(`auth is jwt with ${algorithm}: ${usable} must be set, not ${given.join(' and ')}`);
  const text = config[name] ?? '';
  if (name === 'JWT_JWKS_URL') return openPublished(text, { config, log });
  const key = minBytes !== undefined ? secretKey(algorithm, { text, minBytes }) : publicKey(algorithm, { name, text });
  return { origin: name, find: () => key, [Symbol.dispose]: () => undefined };
}

function openPublished(url: string, { config, log }: KeysOptions): Keys {
  const fault = addressFault(url);
  if (fault !== undefined) throw new ConfigError(`JWT_JWKS_URL ${fault}`);
  return openFetched({ url, algorithms: [config.JWT_ALGORITHM], origin: 'JWT_JWKS_URL' }, { config, log });
}

interface Fetched extends Pick<Parameters<typeof openJwks>[0], 'url' | 'algorithms'> {
  readonly origin: string;
}

/** Opens the keys that an issuer publishes, as often as the settings allow it. */
export function openFetched({ origin, ...published }: Fetched, { config, log }: KeysOptions): Keys {
  const jwks = openJwks({
    ...published,
    timeoutMs: config.AUTH_TIMEOUT_MS,
    cooldownMs: config.JWT_JWKS_COOLDOWN_SECONDS * 1000,
    maxAgeMs: config.JWT_JWKS_MAX_AGE_SECONDS * 1000,
    now: () => performance.now(),
    log,
  });
  return { origin, find: jwks.find, [Symbol.dispose]: () => jwks[Symbol.dispose]() };
}

function secretKey(
  algorithm: Algorithm,
  { text, minBytes }: { readonly text: string; readonly minBytes: number },
): KeyObject {
  const bytes = Buffer.from(text, 'utf8');
  if (text.includes('-----BEGIN')) throw new ConfigError(`JWT_SECRET_KEY holds a PEM key; ${algorithm} needs a secret`);
  if (bytes.length < minBytes)
    throw new ConfigError(`JWT_SECRET_KEY has ${bytes.length} bytes; ${algorithm} needs at least ${minBytes}`);
  return createSecretKey(bytes);
}

interface NamedText {
  readonly name: string;
  readonly text: string;
}

function publicKey(algorithm: Algorithm, { name, text }: NamedText): KeyObject {
  if (text.includes('PRIVATE KEY'))
    throw new ConfigError(`${name} holds a private key; the service needs the public one, and nobody else's secret`);
  const fault = (why: string): ConfigError => new ConfigError(`${name} ${why}`);
  let key: KeyObject;
  try {
    // Many ways to set a variable allow one line only: then the line breaks of PEM are written as a backslash and an n.
    key = createPublicKey(text.replaceAll('\\n', '\n'));
  } catch {
    throw fault('is not a public key in PEM');
  }
  const why = misfit(algorithm, key);
  if (why !== undefined) throw fault(why);
  return key;
}
