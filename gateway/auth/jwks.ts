import { createPublicKey, type KeyObject } from 'node:crypto';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { misfit, type Algorithm } from './algorithms.ts';

/** The public keys of an issuer, read from one address. Disposal gives up a read that is under way. */
export interface Jwks extends Disposable {
  /**
   * The key that a token names; a token that names none means the only key there is. The keys are read when none are
   * known yet, again for a name that is not known (once per cool-down), and in the background when they are old.
   * @throws Unauthenticated when there is no such key; Unavailable when no keys could ever be read.
   */
  readonly find: (kid: unknown) => Promise<KeyObject>;
}

export interface JwksOptions {
  readonly url: string;
  readonly algorithm: Algorithm;
  readonly timeoutMs: number;
  readonly cooldownMs: number;
  readonly maxAgeMs: number;
  /** Milliseconds, never back. */
  readonly now: () => number;
  readonly log: Log;
}

type Keys = ReadonlyMap<unknown, KeyObject>;

/** While no keys are known nobody gets in: they are asked for this often. */
const retryMs = 1000;

/** Begins to read the keys at once. An address that is away keeps the keys that are known. */
export function openJwks(options: JwksOptions): Jwks {
  const { cooldownMs, maxAgeMs, now, log } = options;
  const life = new AbortController();
  let keys: Keys = new Map();
  let oldAt = 0;
  let mayAskAt = -Infinity;
  let reading: Promise<void> | undefined;

  const pauseMs = (): number => (keys.size > 0 ? cooldownMs : Math.min(cooldownMs, retryMs));
  const read = async (): Promise<void> => {
    try {
      keys = await readKeys(options, life.signal);
      oldAt = now() + maxAgeMs;
    } catch (error) {
      oldAt = now() + Math.min(maxAgeMs, Math.max(pauseMs(), retryMs));
      if (!life.signal.aborted) log.warn({ err: error, known: keys.size }, 'keys of the token issuer not read');
    } finally {
      reading = undefined;
    }
  };
  const refresh = (): Promise<void> => (reading ??= read());
  /** Asks for a key that is not known, unless that was done a moment ago. */
  const ask = async (): Promise<void> => {
    if (now() >= mayAskAt) {
      void refresh();
      mayAskAt = now() + pauseMs();
    }
    await reading;
  };

  void refresh();
  return {
    find: async (kid) => {
      if (keys.size === 0) await reading;
      else if (now() >= oldAt) void refresh();
      if (!pick(keys, kid)) await reading;
      if (!pick(keys, kid)) await ask();
      const key = pick(keys, kid);
      if (key) return key;
      if (keys.size > 0)
        throw new ServiceError('Unauthenticated', 'the token is not valid', { cause: new Error('no such key') });
      throw unavailable('the keys of the token issuer cannot be read');
    },
    [Symbol.dispose]: () => {
      life.abort();
    },
  };
}

function pick(keys: Keys, kid: unknown): KeyObject | undefined {
  if (kid !== undefined) return keys.get(kid);
  return keys.size === 1 ? [...keys.values()][0] : undefined;
}

const maxBytes = 256 * 1024;

async function readKeys({ url, algorithm, timeoutMs }: JwksOptions, life: AbortSignal): Promise<Keys> {
  const signal = AbortSignal.any([life, AbortSignal.timeout(timeoutMs)]);
  const response = await fetch(url, { redirect: 'error', signal, headers: { accept: 'application/json' } });
  if (response.status !== 200) throw new Error(`the key set answered ${response.status}`);
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
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error(`the key set is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

interface NamedKey {
  readonly kid: unknown;
  readonly object: KeyObject;
}

/** A key of the set, when it is one that verifies signatures of this algorithm. */
function toKey(jwk: unknown, algorithm: Algorithm): NamedKey | undefined {
  if (typeof jwk !== 'object' || jwk === null) return undefined;
  const { kid, kty, n, e, crv, x, y, alg = algorithm, use = 'sig', key_ops: uses } = jwk as Record<string, unknown>;
  if (alg !== algorithm || use !== 'sig') return undefined;
  if (uses !== undefined && !(Array.isArray(uses) && uses.includes('verify'))) return undefined;
  if (kid !== undefined && typeof kid !== 'string') return undefined;
  const given = Object.fromEntries(Object.entries({ kty, n, e, crv, x, y }).filter(([, value]) => value !== undefined));
  try {
    const object = createPublicKey({ key: given, format: 'jwk' });
    return misfit(algorithm, object) === undefined ? { kid, object } : undefined;
  } catch {
    return undefined;
  }
}

/** Why keys cannot be read from this address; `undefined` when they can be asked for. */
export const jwksFault = (url: string): string | undefined => {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'must be an http or https address';
  return parsed.username || parsed.password ? 'must not carry a name or password' : undefined;
};
