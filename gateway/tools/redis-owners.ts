import { createHash } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import type { Redis } from '../redis/redis.ts';

/** Which owners have set up tools, as far as this replica knows without asking Redis. */
export interface ToolOwners extends AsyncDisposable {
  /** Whether it is known that the owner has none. */
  readonly hasNone: (owner: string) => boolean;
  /** The owner has set up tools. */
  readonly add: (owner: string) => void;
  /** What is known may miss an owner: nothing is known from now on. */
  readonly forget: () => void;
  /** Reads all owners; whoever comes meanwhile and later is told by `add`. */
  readonly load: () => Promise<void>;
}

/** With more owners than that nothing is known, so that the list is bounded: some 10 MiB. */
const maxOwners = 100_000;
const readAtOnce = 1000;
/** How often owners whose tools have run out are forgotten, in milliseconds. */
const renewMs = 60 * 60 * 1000;

/** Reads the owners from a sorted set, whose scores are the times at which their tools run out. */
export function openToolOwners(redis: Redis, key: string): ToolOwners {
  let known: Set<string> | undefined;
  let loading: Set<string> | undefined;

  const load = async (): Promise<void> => {
    const owners = new Set<string>();
    loading = owners;
    let cursor = '0';
    do {
      const reply = await redis.send('ZSCAN', key, cursor, 'COUNT', String(readAtOnce));
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

  const renewing = every(
    renewMs,
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
    [Symbol.asyncDispose]: () => renewing[Symbol.asyncDispose](),
  };
}

/** Owners' ids may be long: two that share a digest are both taken for owners with tools, which loses nothing. */
const digestOf = (owner: string): string => createHash('sha256').update(owner).digest('base64url').slice(0, 16);
