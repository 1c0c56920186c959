import { foldText } from '@agent-workflow/kit/fold-text';
import { stemOf } from './stems.ts';

/** A store keeps it with its index of terms. It changes with every change of what {@link termsOf} gives for a text. */
export const termsVersion = 2;

/**
 * The terms of a text as keys of an index, in their order. A word has its stem and parts of its letters, so that other forms of it and
 * compounds with it are found. Scripts that write no spaces between words have groups of neighbouring letters, because what is a word
 * there depends on a dictionary, and dictionaries differ from one machine to the next.
 */
export const termsOf = (text: string): string[] => termsWith(text, partsOf);

function termsWith(text: string, parts: (letters: readonly string[]) => string[]): string[] {
  const runs = withoutMarks(foldText(text).replace(ignored, '')).match(runOfScript) ?? [];
  return runs.flatMap((written) => {
    const run = written.replace(article, '');
    const letters = Array.from(run);
    if (han.test(run)) return letters.length === 1 ? letters : [...letters, ...groupsOf(letters, 2)];
    if (kana.test(run)) return groupsOf(letters, 2);
    if (hangul.test(run)) return koreanTerms(letters, run);
    if (unspaced.test(run)) return groupsOf(letters, 3);
    return [stemOf(run), ...parts(letters)];
  });
}

/** The most terms that one query looks for. */
const maxTerms = 128;

/**
 * The different terms of a query: whole words before their parts. Every second part is enough, and takes half the time: a word that has five letters
 * in common with it has one of them.
 */
export function queryTermsOf(text: string): string[] {
  const everySecond = (letters: readonly string[]): string[] => partsOf(letters).filter((_, place) => place % 2 === 0);
  const terms = [...new Set(termsWith(text, everySecond))];
  const isPart = (term: string): boolean => term.startsWith(partMark);
  return [...terms.filter((term) => !isPart(term)), ...terms.filter(isPart)].slice(0, maxTerms);
}

const unspacedScripts = '\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}';
const han = /^\p{sc=Han}/u;
const kana = /^[\p{sc=Hira}\p{sc=Kana}ー]/u;
const hangul = /^\p{sc=Hang}/u;
const unspaced = new RegExp(`^[${unspacedScripts}]`, 'v');

const wordLetters = '[\\p{L}\\p{N}\\p{M}\\p{Co}]';
const ownRuns = ['\\p{sc=Han}', '[\\p{sc=Hira}ー]', '[\\p{sc=Kana}ー]', '\\p{sc=Hang}', `[${unspacedScripts}]`];
/** A run of letters, marks and digits of one way of writing. */
const runOfScript = new RegExp(
  [...ownRuns, `[^${ownRuns.join('')}]`].map((set) => `[${set}&&${wordLetters}]+`).join('|'),
  'gv',
);

/** Soft hyphens, joiners and variation selectors, which are seen by nobody, and the stroke that makes Arabic words longer. */
const ignored = /[\u00ad\u200c\u200d\u2060\ufe00-\ufe0f\u0640]/gu;

const looseMarks =
  /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Hebrew}\p{sc=Syriac}]]--[\u3099\u309a]]/gv;

/** Without accents and vowel points, which people leave out. The marks of other scripts are letters of their own. */
const withoutMarks = (text: string): string => text.normalize('NFD').replace(looseMarks, '').normalize('NFC');

/** Every group of `size` neighbours; all letters when there are fewer. */
const groupsOf = (letters: readonly string[], size: number): string[] =>
  Array.from({ length: Math.max(letters.length - size + 1, 1) }, (_, from) =>
    letters.slice(from, from + size).join(''),
  );

/** The particles of Korean, which are written at the end of a noun. */
const particle = /(?:에서|에게|한테|으로|까지|부터|이다|은|는|이|가|을|를|에|의|도|와|과|로|만)$/u;

/** The Arabic article, which is written at the beginning of a word, behind other prefixes. */
const article = /^[وفبك]?ال(?=..)/u;

/** Pairs of syllables, and a noun of one syllable without its particle. */
function koreanTerms(syllables: readonly string[], run: string): string[] {
  const noun = run.replace(particle, '');
  return [...groupsOf(syllables, 2), ...(noun !== run && noun.length === 1 ? [noun] : [])];
}

/** Parts of words begin with it: a word of four letters is not the same term as four letters of a longer one. */
const partMark = '+';
const partSize = 4;
/** Words with so many letters may be compounds. */
const compoundSize = 7;

/** The first letters of a word; of a long one every group of letters. */
function partsOf(letters: readonly string[]): string[] {
  if (letters.length < partSize) return [];
  const groups = letters.length < compoundSize ? [letters.slice(0, partSize).join('')] : groupsOf(letters, partSize);
  return groups.map((group) => partMark + group);
}
