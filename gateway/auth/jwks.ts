import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { misfit, type Algorithm } from './algorithms.ts';
import { fetchJson } from './fetched-json.ts';

/** The public keys of an issuer, fetched from one URL. Disposal aborts a fetch. */
interface Jwks extends Disposable {
  /**
   * The key with this `kid` for tokens of this algorithm; for an undefined `kid`, the only such key of the set. The set is fetched when no keys
   * are known yet, again for an unknown `kid` (once per cool-down), and in the background when it is older than `maxAgeMs`.
   * @throws Unauthenticated when there is no such key; Unavailable when the set could never be fetched.
   */
  readonly find: (kid: unknown, algorithm: Algorithm) => Promise<KeyObject>;
}

interface JwksOptions {
  /** Where the set is; a function reads it from the issuer, before each fetch. */
  readonly url: string | ((signal: AbortSignal) => Promise<string>);
  /** Keys for other algorithms are left out. */
  readonly algorithms: readonly Algorithm[];
  /** For one fetch of the set, with what says where it is. */
  readonly timeoutMs: number;
  readonly cooldownMs: number;
  readonly maxAgeMs: number;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

interface PublishedKey {
  readonly kid: unknown;
  readonly object: KeyObject;
  /** Those that it verifies. */
  readonly algorithms: readonly Algorithm[];
}

/** The pause between two fetches while no keys are known, because no caller can authenticate then. */
const retryMs = 1000;

/** Begins to fetch the set at once. A fetch that fails keeps the keys that are known. */
export function openJwks(options: JwksOptions): Jwks {
  const { cooldownMs, maxAgeMs, now, log } = options;
  const life = new AbortController();
  let keys: readonly PublishedKey[] = [];
  let staleAt = 0;
  let nextFetchAt = -Infinity;
  let fetching: Promise<void> | undefined;

  const pauseMs = (): number => (keys.length > 0 ? cooldownMs : Math.min(cooldownMs, retryMs));
  const fetchKeys = async (): Promise<void> => {
    try {
      keys = await readKeys(options, life.signal);
      staleAt = now() + maxAgeMs;
    } catch (error) {
      staleAt = now() + Math.min(maxAgeMs, Math.max(pauseMs(), retryMs));
      if (!life.signal.aborted)
        log.warn(
          { err: error, known: keys.length },
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
    find: async (kid, algorithm) => {
      const pick = (): KeyObject | undefined => pickKey(keys, kid, algorithm);
      if (keys.length === 0) await fetching;
      else if (now() >= staleAt) void refresh();
      if (!pick()) await fetching;
      if (!pick()) await refreshForUnknown();
      const key = pick();
      if (key) return key;
      if (keys.length > 0)
        throw new ServiceError('Unauthenticated', 'the token is not valid', { cause: new Error('no such key') });
      throw unavailable('the keys of the token issuer could not be fetched; try again later');
    },
    [Symbol.dispose]: () => {
      life.abort();
    },
  };
}

function pickKey(keys: readonly PublishedKey[], kid: unknown, algorithm: Algorithm): KeyObject | undefined {
  const fitting = keys.filter((key) => key.algorithms.includes(algorithm));
  if (kid !== undefined) return fitting.find((key) => key.kid === kid)?.object;
  return fitting.length === 1 ? fitting[0]?.object : undefined;
}

async function readKeys({ url, algorithms, timeoutMs }: JwksOptions, life: AbortSignal): Promise<PublishedKey[]> {
  const signal = AbortSignal.any([life, AbortSignal.timeout(timeoutMs)]);
  const address = typeof url === 'string' ? url : await url(signal);
  const { keys } = (await fetchJson(address, 'the key set', signal)) as { readonly keys?: unknown };
  const found: PublishedKey[] = [];
  for (const jwk of Array.isArray(keys) ? (keys as unknown[]) : []) {
    const key = toKey(jwk, algorithms);
    if (key && !found.some((known) => areAlike(known, key))) found.push(key);
  }
  if (found.length === 0) throw new Error(`the key set has no key for ${algorithms.join(', ')}`);
  return found;
}

/** Of two keys for which a token cannot choose, the first counts. */
const areAlike = (one: PublishedKey, other: PublishedKey): boolean =>
  one.kid === other.kid && one.algorithms.some((algorithm) => other.algorithms.includes(algorithm));

/** A key of the set, if it is a public key for signatures of one of these algorithms. */
function toKey(jwk: unknown, among: readonly Algorithm[]): PublishedKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kid, alg, use = 'sig', key_ops: uses } = jwk as Record<string, unknown>;
  if (use !== 'sig') return undefined;
  if (uses !== undefined && !(Array.isArray(uses) && uses.includes('verify'))) return undefined;
  if (kid !== undefined && typeof kid !== 'string') return undefined;
  try {
    const object = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    const algorithms = among.filter(
      (each) => (alg === undefined || alg === each) && misfit(each, object) === undefined,
    );
    return algorithms.length > 0 ? { kid, object, algorithms } : undefined;
  } catch {
    return undefined;
  }
}
