import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { ThreadKey } from '../ports/record.ts';
import { undoBytes } from '../record/row-sizes.ts';
import { decodeUndo, type Undo } from './undo.ts';
import type { ThreadHistory } from '../ports/history.ts';

/** Undo records read at once, unless fewer of them fill a page. */
const undosAtOnce = 16;

/**
 * Calls `apply` with every undo from the newest down to that of `version`; `begin` comes first, and again when a rollback came
 * in between, because what was applied before it is void then.
 * @returns Whether the version is kept, and so all above it.
 */
export async function walkUndos(
  store: ThreadHistory,
  { key, version }: { readonly key: ThreadKey; readonly version: number },
  begin: () => (version: number, undo: Undo) => void,
): Promise<boolean> {
  for (;;) {
    const { newest, oldest, pages } = await walkPages(store, key, version, begin());
    // A rollback drops the newest ones: if the first that was read still stands, none was dropped above the others either.
    if (pages > 1 && !(await isKept(store, key, newest))) continue;
    return oldest === version;
  }
}

async function walkPages(
  store: ThreadHistory,
  key: ThreadKey,
  version: number,
  apply: (version: number, undo: Undo) => void,
): Promise<{ readonly newest: number; readonly oldest: number; readonly pages: number }> {
  const yielder = createYielder();
  let newest = 0;
  let oldest = 0;
  for (let pages = 1; ; pages++) {
    const below = oldest === 0 ? {} : { below: oldest };
    const rows = await store.listUndos(key, { above: version - 1, ...below, limit: undosAtOnce + 1, bytes: pageBytes });
    const { items, hasMore } = toPage(rows, { limit: undosAtOnce, sizeOf: undoBytes });
    for (const row of items) {
      apply(row.version, decodeUndo(row.undo));
      if (yielder.isDue()) await yielder.yield();
    }
    newest ||= items[0]?.version ?? 0;
    oldest = items.at(-1)?.version ?? oldest;
    if (!hasMore || oldest === version) return { newest, oldest, pages };
  }
}

const isKept = async (store: ThreadHistory, key: ThreadKey, version: number): Promise<boolean> =>
  (await store.listCheckpoints(key, { below: version + 1, limit: 1 }))[0]?.version === version;
