import { signal, type ReadonlySignal } from '@preact/signals';

/** A selection of a list under a name: the parameters of its address. */
export interface SavedFilter {
  readonly name: string;
  readonly query: Readonly<Record<string, string>>;
}

/** What a reader can save of one list, and how long a name and a selection may be, in characters. */
const maxSaved = 20;
const maxName = 40;
const maxQuery = 2000;

/** The filters that the reader has saved of one list, for all tabs of this browser. */
export interface SavedFilters {
  readonly filters: ReadonlySignal<readonly SavedFilter[]>;
  /** Saves one, in place of one of the same name. @returns why it cannot be saved; `undefined` when it is. */
  readonly save: (filter: SavedFilter) => string | undefined;
  readonly remove: (name: string) => void;
}

/** The saved filters of the list of this name. `storage` is `localStorage`. */
export function createSavedFilters(list: string, storage: Pick<Storage, 'getItem' | 'setItem'>): SavedFilters {
  const key = `filters-${list}`;
  const filters = signal(readSaved(storage.getItem(key)));
  const keep = (next: readonly SavedFilter[]): string | undefined => {
    try {
      storage.setItem(key, JSON.stringify(next));
    } catch {
      return 'This browser keeps nothing more for this page.';
    }
    filters.value = next;
    return undefined;
  };
  return {
    filters,
    save: (filter) => {
      const fault = faultIn(filter);
      if (fault !== undefined) return fault;
      const others = filters.peek().filter(({ name }) => name !== filter.name);
      if (others.length >= maxSaved) return `There are ${String(maxSaved)} saved filters. Remove one first.`;
      return keep([...others, filter]);
    },
    remove: (name) => void keep(filters.peek().filter((each) => each.name !== name)),
  };
}

function faultIn({ name, query }: SavedFilter): string | undefined {
  if (name.trim() === '') return 'A filter needs a name.';
  if (name.length > maxName) return `A name has at most ${String(maxName)} characters.`;
  return JSON.stringify(query).length > maxQuery ? 'The filter is too long to be saved.' : undefined;
}

/** What was stored may be of another version of the page, or of somebody's hand. */
function readSaved(text: string | null): readonly SavedFilter[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value.filter(isSaved).slice(0, maxSaved) : [];
  } catch {
    return [];
  }
}

function isSaved(value: unknown): value is SavedFilter {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('query' in value)) return false;
  const { name, query } = value;
  if (typeof name !== 'string' || typeof query !== 'object' || query === null) return false;
  return (
    Object.values(query).every((each) => typeof each === 'string') &&
    faultIn({ name, query: query as SavedFilter['query'] }) === undefined
  );
}

/** Whether two selections are the same, whatever the order of their parameters. */
export function isSameQuery(a: SavedFilter['query'], b: SavedFilter['query']): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}
