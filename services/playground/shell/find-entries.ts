/** Something that the palette offers. */
export interface Entry {
  readonly text: string;
  /** What it is: `Go to`, `Do`, `Thread`, `Run`. */
  readonly kind: string;
  /** The keys that do it, as the table of shortcuts has them. */
  readonly keys?: string;
  readonly run: () => void;
}

/** The entries that hold each word of a text in their own or in their kind, those first that begin with it; at most `max`. */
export function findEntries(entries: readonly Entry[], text: string, max = 40): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const begin = text.trim().toLowerCase();
  const found = entries.filter((entry) => {
    const whole = `${entry.kind} ${entry.text}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  });
  const rank = (entry: Entry): number => (entry.text.toLowerCase().startsWith(begin) ? 0 : 1);
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, max);
}
