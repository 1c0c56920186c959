/** How many ids this browser keeps: older ones go first. */
const maxKept = 200;

/** Reads the kept ids of files, the newest first. What is none of ours is no id. */
export function parseIds(text: string | null): readonly string[] {
  try {
    const read: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(read) ? read.filter((id): id is string => typeof id === 'string').slice(0, maxKept) : [];
  } catch {
    return [];
  }
}

/** Puts an id first, once. */
export const withId = (ids: readonly string[], id: string): readonly string[] =>
  [id, ...ids.filter((each) => each !== id)].slice(0, maxKept);

/** A size in bytes for people, in powers of 1000: `512 B`, `1.2 MB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const at = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** at;
  return `${at === 0 ? String(value) : value.toFixed(value < 10 ? 1 : 0)} ${units[at] ?? ''}`;
}
