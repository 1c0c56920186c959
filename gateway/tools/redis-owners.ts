import { createHash } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import type { Redis } from '../redis/redis.ts';

/** Which owners have set up tools, as far as this replica knows without a call to Redis. */
interface ToolOwners extends AsyncDisposable {
  /** Whether the owner is known to have none. */
  readonly hasNone: (owner: string) => boolean;
  /** Notes that the owner has set up tools. */
  readonly add: (owner: string) => void;
  /** Drops everything that is known, because an owner may have been missed. */
  readonly forget: () => void;
  /** Reads all owners. Owners that set up tools meanwhile and later are added by `add`. */
  readonly load: () => Promise<void>;
}

/** With more owners nothing is known, so that the memory is bounded: some 10 MiB. */
const maxOwners = 100_000;
const ownersPerRead = 1000;
/** How often the owners are read again, which drops those whose tools have expired. In milliseconds. */
const reloadMs = 60 * 60 * 1000;

/** Reads the owners from a sorted set whose scores are the times at which their tools expire. */
export function openToolOwners(redis: Redis, key: string): ToolOwners {
  let known: Set<string> | undefined;
  let loading: Set<string> | undefined;

  const load = async (): Promise<void> => {
    const owners = new Set<string>();
    loading = owners;
    let cursor = '0';
    do {
      const reply = await redis.send('ZSCAN', key, cursor, 'COUNT', String(ownersPerRead));
      const [next, scored] = reply as [string, readonly string[]];
      cursor = next;
      for (let at = 0; at < scored.length; at += 2) owners.add(digestOf(scored[at] ?? ''));
      if (loading !== owners || owners.size > maxOwners) return;
    } while (cursor !== '0');
    loading = undefined;
    known = owners;
  };

  const forget = (): void => {
    known = undefined;
    loading = undefined;
  };

  const reloads = every(
    reloadMs,
    async () => {
      if (known) await load();
    },
    () => undefined,
  );

  return {
    hasNone: (owner) => known !== undefined && !known.has(digestOf(owner)),
    add: (owner) => {
      const digest = digestOf(owner);
      known?.add(digest);
      loading?.add(digest);
      if (known && known.size > maxOwners) known = undefined;
    },
    forget,
    load: () => load().catch(() => undefined),
    [Symbol.asyncDispose]: () => reloads[Symbol.asyncDispose](),
  };
}

/** A short digest in place of the id, which may be long. When two owners share a digest, both count as owners with tools, which does no harm. */
const digestOf = (owner: string): string => createHash('sha256').update(owner).digest('base64url').slice(0, 16);
