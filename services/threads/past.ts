import { createOverlay, type Overlay } from './overlay.ts';
import type { LogEntry, ThreadKey, ThreadStore } from './port.ts';
import { walkUndos } from './undo-pages.ts';

export interface Version {
  readonly key: ThreadKey;
  readonly version: number;
}

/**
 * How the thread differed at a version from rows that were read before this call.
 * @returns `undefined` when the version is not kept.
 */
export async function overlayOf(store: ThreadStore, { key, version }: Version): Promise<Overlay | undefined> {
  let overlay = createOverlay();
  const isKept = await walkUndos(store, { key, version }, () => {
    overlay = createOverlay();
    // The version's own undo leads to what was before it.
    return (at, undo) => {
      if (at > version) overlay.apply(undo);
    };
  });
  return isKept ? overlay : undefined;
}

/**
 * The context at a version, given the one of now, which was read before. What has left it meanwhile is fetched; as an undo must
 * be read after the rows that it corrects, the undos are then read again.
 */
export async function contextOf(
  store: ThreadStore,
  at: Version,
  context: readonly LogEntry[],
): Promise<{ readonly context: readonly Uint8Array[]; readonly overlay: Overlay } | undefined> {
  const known = new Map(context.map((entry) => [entry.position, entry]));
  const now = new Set(known.keys());
  const asked = new Set<number>();
  for (;;) {
    const overlay = await overlayOf(store, at);
    if (!overlay) return undefined;
    const positions = contextUnder(now, overlay);
    const missing = positions.filter((p) => !overlay.places.get(p)?.entry && !known.has(p) && !asked.has(p));
    if (missing.length === 0)
      return { context: positions.flatMap((p) => (overlay.places.get(p)?.entry ?? known.get(p))?.json ?? []), overlay };
    for (const position of missing) asked.add(position);
    for (const entry of await store.getEntries(at.key, missing)) known.set(entry.position, entry);
  }
}

/** Positions of the context as it was, ascending. */
function contextUnder(now: ReadonlySet<number>, { mark, places }: Overlay): number[] {
  const end = mark?.nextPosition ?? Number.MAX_SAFE_INTEGER;
  const candidates = new Set([...now, ...places.keys()]);
  return [...candidates]
    .filter((position) => position < end && (places.get(position)?.inContext ?? now.has(position)))
    .sort((a, b) => a - b);
}
