import { foldText } from '@agent-workflow/kit/fold-text';
import { stemOf } from './stems.ts';

/** A store keeps it with its index of terms. It changes with every change of what {@link termsOf} gives for a text. */
export const termsVersion = 3;

/**
 * The terms of a text as keys of an index, in their order. A word has its stem and parts of its letters, so that other forms of it and
 * compounds with it are found. Scripts that write no spaces between words have groups of neighbouring letters, because what is a word
 * there depends on a dictionary, and dictionaries differ from one machine to the next.
 */
export const termsOf = (text: string): string[] =>
  runsOf(text).flatMap((run) => ownTerms(run, pairsAndTriples) ?? wordTerms(run));

/** The same as one text, each term behind `before`, which begins with a space. It is made without a list, because an index makes very many. */
export function termsText(text: string, before: string): string {
  const terms = runsOf(text).map((run) => ownTerms(run, pairsAndTriples)?.join(' ') ?? termsOfWord(run));
  return terms.length === 0 ? '' : before + terms.join(' ').replaceAll(' ', before);
}

/** The runs of a text, folded. Most texts are ASCII and have words alone. */
function runsOf(text: string): readonly string[] {
  const folded = foldText(text);
  if (isAscii.test(folded)) return folded.match(asciiWord) ?? [];
  const words = withoutMarks(folded.replace(ignored, '')).match(lettersAndDigits) ?? [];
  return words.flatMap((word) => word.match(runOfScript) ?? []).map((run) => run.replace(article, ''));
}

/** The terms of a run in a script that writes no spaces, or whose words are short. */
function ownTerms(run: string, unspacedTerms: (run: string) => string[]): string[] | undefined {
  if (run.charCodeAt(0) <= lastAscii || !isOwnRun.test(run)) return undefined;
  if (kana.test(run)) return groupsOf(run, 2);
  if (hangul.test(run)) return koreanTerms(run);
  if (!han.test(run)) return unspacedTerms(run);
  const letters = Array.from(run);
  return letters.length === 1 ? letters : [...letters, ...groupsOf(run, 2)];
}

const wordTerms = (word: string): string[] => [stemOf(word), ...partsOf(word)];

/** The terms of a word with a space between two. Texts repeat their words, and the stems of all of them took most of the time of an import. */
function termsOfWord(word: string): string {
  if (word.length > rememberedLength) return wordTerms(word).join(' ');
  const before = remembered.get(word);
  if (before !== undefined) return before;
  const terms = wordTerms(word).join(' ');
  if (remembered.size >= rememberedWords) remembered.clear();
  remembered.set(word, terms);
  return terms;
}

const remembered = new Map<string, string>();
const rememberedWords = 5000;
/** V8 keeps a longer part of a text as a reference to the whole text, which would stay in memory with it. */
const rememberedLength = 12;

/** The most terms that one query looks for. */
const maxTerms = 128;

/**
 * The different terms of a query: whole words before their parts. Every second part is enough, and takes half the time: a word that has five letters
 * in common with it has one of them.
 */
export function queryTermsOf(text: string): string[] {
  const terms = new Set<string>();
  const parts = new Set<string>();
  for (const run of runsOf(text)) {
    for (const term of ownTerms(run, triples) ?? [stemOf(run)]) terms.add(term);
    if (!isOwnRun.test(run)) partsOf(run).forEach((part, place) => place % 2 === 0 && parts.add(part));
  }
  return [...terms, ...parts].slice(0, maxTerms);
}

const han = /^\p{sc=Han}/u;
const kana = /^[\p{sc=Hira}\p{sc=Kana}ー]/u;
const hangul = /^\p{sc=Hang}/u;
const isOwnRun = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー\p{sc=Hang}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;
const isAscii = /^[\0-\x7f]*$/;
const lastAscii = 0x7f;
const asciiWord = /[a-z0-9]+/g;
const lettersAndDigits = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;
/** Letters, marks and digits of one way of writing. */
const runOfScript =
  /\p{sc=Han}+|[\p{sc=Hira}ー]+|[\p{sc=Kana}ー]+|\p{sc=Hang}+|[\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]+|[^\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー\p{sc=Hang}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]+/gu;

/** Soft hyphens, joiners and variation selectors, which are seen by nobody, and the stroke that makes Arabic words longer. */
const ignored = /[\u00ad\u200c\u200d\u2060\ufe00-\ufe0f\u0640]/gu;

const looseMarks =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Hebrew}\p{sc=Syriac}]]--[\u3099\u309a]]/gv;

/** Without accents and vowel points, which people leave out. The marks of other scripts are letters of their own. */
const withoutMarks = (text: string): string => text.normalize('NFD').replace(looseMarks, '').normalize('NFC');

/** Every group of `size` neighbours; all letters when there are fewer. Only letters beyond 16 bits need a list, which is slow. */
function groupsOf(run: string, size: number, mark = ''): string[] {
  const letters = isWide.test(run) ? Array.from(run) : run;
  const groups: string[] = [];
  for (let end = Math.min(size, letters.length); end <= letters.length; end += 1) {
    const group = letters.slice(Math.max(end - size, 0), end);
    groups.push(mark + (typeof group === 'string' ? group : group.join('')));
  }
  return groups;
}

const isWide = /[\ud800-\udfff]/;

/** The particles of Korean, which are written at the end of a noun. */
const particle = /(?:에서|에게|한테|으로|까지|부터|이다|은|는|이|가|을|를|에|의|도|와|과|로|만)$/u;

/** The Arabic article, which is written at the beginning of a word, behind other prefixes. */
const article = /^[وفبك]?ال(?=..)/u;

/** Pairs of syllables, and a noun of one syllable without its particle. */
function koreanTerms(run: string): string[] {
  const noun = run.replace(particle, '');
  return [...groupsOf(run, 2), ...(noun !== run && noun.length === 1 ? [noun] : [])];
}

/** All letters when there are fewer than three. */
const triples = (run: string): string[] => groupsOf(run, 3);

/** Two letters are a whole word here (`ชา`, tea), which only a query of two letters looks for: three say more. */
const pairsAndTriples = (run: string): string[] => (run.length <= 2 ? [run] : [...groupsOf(run, 2), ...triples(run)]);

/** Parts of words begin with it: a word of four letters is not the same term as four letters of a longer one. */
const partMark = '+';
const partSize = 4;
/** Words with so many letters may be compounds. */
const compoundSize = 7;

/** The first letters of a word; of a long one every group of letters. */
function partsOf(word: string): string[] {
  const length = isWide.test(word) ? Array.from(word).length : word.length;
  if (length < partSize) return [];
  if (length >= compoundSize) return groupsOf(word, partSize, partMark);
  return groupsOf(word, partSize, partMark).slice(0, 1);
}
