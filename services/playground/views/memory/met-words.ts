/** A part of a text, from its first character to the one behind its last. */
export interface Place {
  readonly from: number;
  readonly to: number;
}

/** Words of English grammar say nothing about the subject of a question, so the service does not look for them. */
const grammar = new Set(
  (
    'a an the this that these those some any no not and or but nor so if then than as at by for from in into of off on onto ' +
    'out over to up with about after before i me my we us our you your he him his she her it its they them their who whom ' +
    'which what when where why how there here is am are was were be been being do does did have has had can could may might ' +
    'must shall should will would'
  ).split(' '),
);

/** Letters of scripts that have no spaces between words: there two letters are a word, in those with small letters three. */
const pairs = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]/u;
const triples = /[\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;

const words = /[\p{L}\p{N}\p{M}]+/gu;

/** Words that share so many first letters are forms of one word, unless one is longer by more than {@link maxEnding} than both share. */
const stem = 4;
const maxEnding = 2;

/** A longer query is looked through as far as this, a text up to its bound in the service. In characters. */
const maxQuery = 4000;
const maxText = 64 * 1024;

/** A longer row of letters is no word, and no longer place stands out: to fold or to lay out a row of marks takes the square of its length. */
const maxWord = 200;

/** Without case, width and accents, which the service does not compare either. */
const folded = (word: string): string => word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** What of a query is looked for in texts. */
export interface SoughtWords {
  readonly whole: ReadonlySet<string>;
  /** Words by their first letters. */
  readonly byStem: ReadonlyMap<string, readonly string[]>;
  /** Groups of letters of scripts without spaces. */
  readonly groups: ReadonlySet<string>;
}

/** Reads the words of a query: those of grammar count only where there are no others. */
export function soughtIn(query: string): SoughtWords {
  const all = [...query.slice(0, maxQuery).matchAll(words)].map(([word]) => folded(word));
  const keywords = all.filter((word) => !grammar.has(word));
  const sought = keywords.length > 0 ? keywords : all;
  const spaced = sought.filter((word) => groupSize(word) === 0);
  const stems = spaced.filter((word) => word.length >= stem);
  return {
    whole: new Set(spaced),
    byStem: Map.groupBy(new Set(stems), (word) => word.slice(0, stem)),
    groups: new Set(sought.flatMap((word) => groupsOf(word).map(({ text }) => text))),
  };
}

/** Where a text has words of a query, in their order; at most `most` places. It takes one pass. */
export function metPlaces(text: string, sought: SoughtWords, most = 200): readonly Place[] {
  const places: Place[] = [];
  for (const { 0: word, index } of text.slice(0, maxText).matchAll(words)) {
    if (places.length >= most) break;
    if (groupSize(word) === 0) {
      if (word.length <= maxWord && isMet(folded(word), sought)) places.push({ from: index, to: index + word.length });
    } else if (sought.groups.size > 0) {
      for (const { text: group, at } of groupsOf(word)) {
        if (!sought.groups.has(group)) continue;
        const [from, to] = [index + at, index + at + group.length];
        const last = places.at(-1);
        if (last && last.to >= from && to - last.from <= maxWord) places[places.length - 1] = { from: last.from, to };
        else if (places.length < most) places.push({ from: Math.max(from, last?.to ?? 0), to });
        else break;
      }
    }
  }
  return places;
}

/** The words of a text that are words of a query, each once, at most `most`. */
export function metWords(text: string, sought: SoughtWords, most = 12): readonly string[] {
  const met = metPlaces(text, sought).map(({ from, to }) => text.slice(from, to));
  return [...new Map(met.map((word) => [word.toLowerCase(), word])).values()].slice(0, most);
}

function isMet(word: string, { whole, byStem }: SoughtWords): boolean {
  if (whole.has(word)) return true;
  return (byStem.get(word.slice(0, stem)) ?? []).some((other) => {
    const most = Math.min(word.length, other.length);
    let shared = stem;
    while (shared < most && word[shared] === other[shared]) shared++;
    return shared >= most - maxEnding;
  });
}

/** How many letters a group has in the script of a word; 0 where spaces part its words. */
const groupSize = (word: string): number => (pairs.test(word) ? 2 : triples.test(word) ? 3 : 0);

/** The groups of letters of a word in a script without spaces; a word that is shorter is one group. */
function groupsOf(word: string): readonly { readonly text: string; readonly at: number }[] {
  const size = groupSize(word);
  if (size === 0) return [];
  if (word.length <= size) return [{ text: word, at: 0 }];
  return Array.from({ length: word.length - size + 1 }, (_, at) => ({ text: word.slice(at, at + size), at }));
}

/** A part of a text that is shown, with the places of its words. */
interface Excerpt {
  readonly text: string;
  readonly places: readonly Place[];
}

/** So many characters before the first word that is met are shown. */
const lead = 60;

/** An excerpt is of the beginning of a text, as far as this: a list draws many of them. */
const maxSkimmed = 8192;

/** The part of a text about the first word that is met; all of it where it has at most `size` characters. */
export function excerptOf(text: string, sought: SoughtWords | undefined, size = 280): Excerpt {
  const places = sought ? metPlaces(text.slice(0, maxSkimmed), sought) : [];
  const first = places[0]?.from ?? 0;
  const from = text.length <= size || first <= size - lead ? 0 : wordStart(text, first - lead, first);
  const to = Math.min(text.length, from + size);
  const [before, after] = [from > 0 ? '… ' : '', to < text.length ? ' …' : ''];
  const shift = before.length - from;
  return {
    text: `${before}${text.slice(from, to).toWellFormed()}${after}`,
    places: places
      .filter((place) => place.from >= from && place.to <= to)
      .map((place) => ({ from: place.from + shift, to: place.to + shift })),
  };
}

/** Where a word begins between two places; the second where none does. */
function wordStart(text: string, from: number, to: number): number {
  const space = text.slice(from, to).search(/\s/);
  return space === -1 ? to : from + space + 1;
}

/** A part of a text: `isMet` stands out. */
interface MarkedPart {
  readonly text: string;
  readonly isMet: boolean;
}

/** A text in parts, of which those at the places stand out. */
export function markedParts(text: string, places: readonly Place[]): readonly MarkedPart[] {
  const parts: MarkedPart[] = [];
  let at = 0;
  for (const { from, to } of places) {
    if (from > at) parts.push({ text: text.slice(at, from), isMet: false });
    parts.push({ text: text.slice(from, to), isMet: true });
    at = to;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isMet: false });
  return parts;
}
