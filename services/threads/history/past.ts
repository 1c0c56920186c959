import { createOverlay, type Overlay } from './overlay.ts';
import type { LogEntry, ThreadKey } from '../ports/record.ts';
import { walkUndos } from './undo-pages.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadHistory } from '../ports/history.ts';

interface Version {
  readonly key: ThreadKey;
  readonly version: number;
  /** Whether what stood before the version is meant. */
  readonly isBefore?: boolean;
}

/**
 * How the thread differed at a version from rows that were read before this call.
 * @returns `undefined` when the version is not kept.
 */
export async function overlayOf(
  store: ThreadHistory,
  { key, version, isBefore = false }: Version,
): Promise<Overlay | undefined> {
  let overlay = createOverlay();
  const isKept = await walkUndos(store, { key, version }, () => {
    overlay = createOverlay();
    // The version's own undo leads to what was before it.
    return (at, undo) => {
      if (at > version || isBefore) overlay.apply(undo);
    };
  });
  return isKept ? overlay : undefined;
}

/** Entries in the first fetch, when their sizes are unknown, and in any fetch. */
const firstFetch = 16;
const maxFetch = 500;
const fetchBytes = 4 * 1024 * 1024;

interface PastContext {
  readonly context: readonly Uint8Array[];
  /** Whether older messages of it are left out. */
  readonly isTruncated: boolean;
  readonly overlay: Overlay;
}

/**
 * The context at a version, or of one larger than `maxBytes` the newest messages that fit. It starts with the present context
 * and fetches what has left it meanwhile. Undo records must be read after the rows that they correct, so they are then read
 * again.
 * @returns `undefined` when the version is not kept.
 */
export async function contextOf(
  store: ThreadReads & ThreadHistory,
  at: Version,
  maxBytes: number,
): Promise<PastContext | undefined> {
  const { key } = at;
  const known = new Map<number, LogEntry>();
  const now = new Set<number>();
  const requested = new Set<number>();
  const readBelow = async (below: number | undefined): Promise<number> => {
    const page = await store.listContext(key, { maxBytes, ...(below === undefined ? {} : { below }) });
    for (const entry of page.entries) {
      known.set(entry.position, entry);
      now.add(entry.position);
    }
    return page.bottom;
  };
  let bottom = await readBelow(undefined);
  let count = firstFetch;
  for (;;) {
    const overlay = await overlayOf(store, at);
    if (!overlay) return undefined;
    const positions = contextUnder(now, overlay, bottom);
    const taken = takeNewest(positions, {
      entryAt: (p) => overlay.places.get(p)?.entry ?? known.get(p),
      requested,
      maxBytes,
    });
    if (taken.missing.length > 0) {
      const missing = taken.missing.slice(0, count);
      for (const position of missing) requested.add(position);
      const fetched = await store.getEntries(key, missing);
      for (const entry of fetched) known.set(entry.position, entry);
      const largest = Math.max(1, ...fetched.map(({ json }) => json.byteLength));
      count = Math.max(1, Math.min(maxFetch, count * 4, Math.floor(fetchBytes / largest)));
    } else if (taken.isFull || bottom === 0) {
      return { context: taken.newest, isTruncated: taken.isFull, overlay };
    } else {
      bottom = await readBelow(bottom);
    }
  }
}

interface Taking {
  readonly entryAt: (position: number) => LogEntry | undefined;
  readonly requested: ReadonlySet<number>;
  readonly maxBytes: number;
}

/** The newest entries that fit, and the positions, newest first, that have yet to be read to decide. */
function takeNewest(
  positions: readonly number[],
  { entryAt, requested, maxBytes }: Taking,
): { readonly newest: readonly Uint8Array[]; readonly missing: readonly number[]; readonly isFull: boolean } {
  const newest: Uint8Array[] = [];
  const missing: number[] = [];
  let bytes = 0;
  for (const position of positions.toReversed()) {
    const entry = entryAt(position);
    if (!entry && !requested.has(position)) missing.push(position);
    if (!entry) continue;
    bytes += entry.json.byteLength + 1;
    if (bytes > maxBytes) return { newest: newest.reverse(), missing, isFull: true };
    newest.push(entry.json);
  }
  return { newest: newest.reverse(), missing, isFull: false };
}

/** Positions of the context as it was, ascending, from `bottom` on: what now is part of it below that is not known. */
function contextUnder(now: ReadonlySet<number>, { mark, places }: Overlay, bottom: number): number[] {
  const end = mark?.nextPosition ?? Number.MAX_SAFE_INTEGER;
  const candidates = new Set([...now, ...places.keys()]);
  return [...candidates]
    .filter(
      (position) => position >= bottom && position < end && (places.get(position)?.inContext ?? now.has(position)),
    )
    .sort((a, b) => a - b);
}
