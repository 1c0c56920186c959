import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';

interface Showing<Item, Shown> {
  /** What the items are, for the log: `run`. */
  readonly kind: string;
  readonly show: (item: Item) => Shown;
  /** What names the item in the log. */
  readonly idsOf: (item: Item) => Readonly<Record<string, string>>;
  readonly log: Pick<Log, 'error'>;
}

/** How often an item that cannot be shown is logged, in milliseconds, and of how many that is remembered. */
const loggedEveryMs = 10 * 60_000;
const rememberedItems = 1000;

/** What was logged lately, by the log. */
const logged = new WeakMap<Pick<Log, 'error'>, ReturnType<typeof createFirstOfKind>>();

/** Items as lists show them. One that cannot be shown, as for a time that is none, is left out and logged, so that the others are. */
export function shownItems<Item, Shown>(
  items: readonly Item[],
  { kind, show, idsOf, log }: Showing<Item, Shown>,
): readonly Shown[] {
  const shown: Shown[] = [];
  for (const item of items) {
    try {
      shown.push(show(item));
    } catch (error) {
      const ids = idsOf(item);
      if (isFirst(log, JSON.stringify([kind, ids])))
        log.error({ err: error, ...ids }, `a ${kind} is left out of a list: it cannot be shown`);
    }
  }
  return shown;
}

function isFirst(log: Pick<Log, 'error'>, item: string): boolean {
  const known = logged.get(log) ?? createFirstOfKind({ silentMs: loggedEveryMs, max: rememberedItems });
  logged.set(log, known);
  return known(item);
}
