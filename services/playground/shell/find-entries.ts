/** Something that the palette offers. */
export interface Entry {
  /** Of a thread or a run: what distinguishes it from others, so that none is offered twice. */
  readonly id?: string;
  readonly text: string;
  /** What it is: `Go to`, `Do`, `Thread`, `Run`. */
  readonly kind: string;
  /** What distinguishes it from others of its title: whose it is, and how old. */
  readonly facts?: string;
  /** The keys that do it, as the table of shortcuts has them. */
  readonly keys?: string;
  readonly run: () => void;
}

/** Words of kinds, which no title need have: `run failed refund`. */
const kindWords = new Set(
  'go to do thread run queued running sleeping interrupted completed failed stopped'.split(' '),
);

/** Shorter words are in too many titles, and longer ones in none that is shown; in characters. */
const soughtLength = { least: 2, most: 100 };

/**
 * The one word by which the service is asked for more entries: it looks for one unbroken text, and the words of a reader may stand
 * apart, so this is the longest that is not of a kind. Empty where there is none.
 */
export function soughtIn(text: string): string {
  const words = wordsOf(text);
  const wanted = words.length === 1 ? words : words.filter((word) => !kindWords.has(word));
  const longest = wanted.reduce((most, word) => (word.length > most.length ? word : most), '');
  return longest.length < soughtLength.least ? '' : longest.slice(0, soughtLength.most);
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** So many last letters of an id distinguish it from others: they do not come from its time. */
const idLength = 6;

/** Entries of which no two say the same: where title, kind and facts of several are one, each has the end of its id. */
export function distinguished(entries: readonly Entry[]): readonly Entry[] {
  const wordsIn = ({ text, kind, facts = '' }: Entry): string => JSON.stringify([text, kind, facts]);
  const same = Map.groupBy(entries, wordsIn);
  return entries.map((entry) => {
    if (entry.id === undefined || same.get(wordsIn(entry))?.length === 1) return entry;
    return { ...entry, facts: [entry.facts, entry.id.slice(-idLength)].filter(Boolean).join(', ') };
  });
}

/** The entries that hold each word of a text in their own or in their kind, those first that begin with it; at most `max`. */
export function findEntries(entries: readonly Entry[], text: string, max = 40): readonly Entry[] {
  const words = wordsOf(text);
  const begin = text.trim().toLowerCase();
  const found = entries.filter((entry) => {
    const whole = `${entry.kind} ${entry.text}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  });
  const rank = (entry: Entry): number => (entry.text.toLowerCase().startsWith(begin) ? 0 : 1);
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, max);
}
