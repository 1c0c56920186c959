import { createPublicKey, type JsonWebKey, type KeyObject, createSecretKey } from 'node:crypto';
import { ConfigError } from '@agent-workflow/kit/env';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { minSecretBytes, misfit, type Algorithm } from './algorithms.ts';
import type { AuthConfig } from './settings.ts';

/** The public keys of an issuer, fetched from one URL. Disposal aborts a fetch. */
interface Jwks extends Disposable {
  /**
   * The key with this `kid`; for `undefined`, the only key of the set. The set is fetched when no keys are known yet, again for
   * an unknown `kid` (once per cool-down), and in the background when it is older than `maxAgeMs`.
   * @throws Unauthenticated when there is no such key; Unavailable when the set could never be fetched.
   */
  readonly find: (kid: unknown) => Promise<KeyObject>;
}

interface JwksOptions {
  readonly url: string;
  readonly algorithm: Algorithm;
  readonly timeoutMs: number;
  readonly cooldownMs: number;
  readonly maxAgeMs: number;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

type KeysById = ReadonlyMap<unknown, KeyObject>;

/** The pause between two fetches while no keys are known, because no caller can authenticate then. */
const retryMs = 1000;

/** Begins to fetch the set at once. A fetch that fails keeps the keys that are known. */
export function openJwks(options: JwksOptions): Jwks {
  const { cooldownMs, maxAgeMs, now, log } = options;
  const life = new AbortController();
  let keys: KeysById = new Map();
  let staleAt = 0;
  let nextFetchAt = -Infinity;
  let fetching: Promise<void> | undefined;

  const pauseMs = (): number => (keys.size > 0 ? cooldownMs : Math.min(cooldownMs, retryMs));
  const fetchKeys = async (): Promise<void> => {
    try {
      keys = await readKeys(options, life.signal);
      staleAt = now() + maxAgeMs;
    } catch (error) {
      staleAt = now() + Math.min(maxAgeMs, Math.max(pauseMs(), retryMs));
      if (!life.signal.aborted)
        log.warn(
          { err: error, known: keys.size },
          'the keys of the token issuer could not be fetched; the known keys stay valid',
        );
    } finally {
      fetching = undefined;
    }
  };
  const refresh = (): Promise<void> => (fetching ??= fetchKeys());
  /** Fetches the set for an unknown key, at most once per cool-down. */
  const refreshForUnknown = async (): Promise<void> => {
    if (now() >= nextFetchAt) {
      void refresh();
      nextFetchAt = now() + pauseMs();
    }
    await fetching;
  };

  void refresh();
  return {
    find: async (kid) => {
      if (keys.size === 0) await fetching;
      else if (now() >= staleAt) void refresh();
      if (!pick(keys, kid)) await fetching;
      if (!pick(keys, kid)) await refreshForUnknown();
      const key = pick(keys, kid);
      if (key) return key;
      if (keys.size > 0)
        throw new ServiceError('Unauthenticated', 'the token is not valid', { cause: new Error('no such key') });
      throw unavailable('the keys of the token issuer could not be fetched; try again later');
    },
    [Symbol.dispose]: () => {
      life.abort();
    },
  };
}

function pick(keys: KeysById, kid: unknown): KeyObject | undefined {
  if (kid !== undefined) return keys.get(kid);
  return keys.size === 1 ? [...keys.values()][0] : undefined;
}

const maxBytes = 256 * 1024;

async function readKeys({ url, algorithm, timeoutMs }: JwksOptions, life: AbortSignal): Promise<KeysById> {
  const signal = AbortSignal.any([life, AbortSignal.timeout(timeoutMs)]);
  const response = await fetch(url, { redirect: 'error', signal, headers: { accept: 'application/json' } });
  if (response.status !== 200) throw new Error(`the key set was answered with status ${response.status}`);
  const { keys } = JSON.parse(await boundedText(response)) as { readonly keys?: unknown };
  const found = new Map<unknown, KeyObject>();
  for (const jwk of Array.isArray(keys) ? (keys as unknown[]) : []) {
    const key = toKey(jwk, algorithm);
    if (key && !found.has(key.kid)) found.set(key.kid, key.object);
  }
  if (found.size === 0) throw new Error(`the key set has no key for ${algorithm}`);
  return found;
}

async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`the key set is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

interface NamedKey {
  readonly kid: unknown;
  readonly object: KeyObject;
}

/** A key of the set, if it is a public key for signatures of this algorithm. */
function toKey(jwk: unknown, algorithm: Algorithm): NamedKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kid, alg = algorithm, use = 'sig', key_ops: uses } = jwk as Record<string, unknown>;
  if (alg !== algorithm || use !== 'sig') return undefined;
  if (uses !== undefined && !(Array.isArray(uses) && uses.includes('verify'))) return undefined;
  if (kid !== undefined && typeof kid !== 'string') return undefined;
  try {
    const object = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    return misfit(algorithm, object) === undefined ? { kid, object } : undefined;
  } catch {
    return undefined;
  }
}

/** What is wrong with the URL of a key set; `undefined` for a valid one. */
const jwksFault = (url: string): string | undefined => {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'must be an http or https address';
  return parsed.username || parsed.password ? 'must not carry a name or password' : undefined;
};

/** The keys that verify tokens. */
export interface Keys extends Disposable {
  /** The setting that they come from, for the line that is printed at the start. */
  readonly origin: string;
  /** The key for a token with this `kid`. @throws as `find` of {@link openJwks} does. */
  readonly find: (kid: unknown) => KeyObject | Promise<KeyObject>;
}

interface KeysOptions {
  readonly config: AuthConfig;
  readonly log: Log;
}

/**
 * Opens the keys of the settings.
 * @throws ConfigError for a key that is missing, too weak, or does not fit `JWT_ALGORITHM`.
 */
export function openKeys({ config, log }: KeysOptions): Keys {
  const { JWT_ALGORITHM: algorithm } = config;
  const given = (['JWT_SECRET_KEY', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL'] as const).filter((name) => config[name]);
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
  const fault = jwksFault(url);
  if (fault !== undefined) throw new ConfigError(`JWT_JWKS_URL ${fault}`);
  const jwks = openJwks({
    url,
    algorithm: config.JWT_ALGORITHM,
    timeoutMs: config.AUTH_TIMEOUT_MS,
    cooldownMs: config.JWT_JWKS_COOLDOWN_SECONDS * 1000,
    maxAgeMs: config.JWT_JWKS_MAX_AGE_SECONDS * 1000,
    now: () => performance.now(),
    log,
  });
  return { origin: 'JWT_JWKS_URL', find: jwks.find, [Symbol.dispose]: () => jwks[Symbol.dispose]() };
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
