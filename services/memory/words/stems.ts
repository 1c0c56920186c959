import { limitMarks } from './combining-marks.ts';

/**
 * The words of a text as keys of an index, in their order: in lower case, without diacritics, and without English endings by Porter's
 * rules, as SQLite's FTS5 makes them (`porter unicode61 remove_diacritics 2`). Any other character than a letter or digit separates words.
 */
export const stemsOf = (text: string): string[] =>
  (
    limitMarks(text)
      .toLowerCase()
      .normalize('NFD')
      .replace(/\p{Mn}/gu, '')
      .match(/[\p{L}\p{N}\p{Co}]+/gu) ?? []
  ).map(stem);

/** The stem of one word in lower case. A word with other characters than a to z is returned as it is. */
function stem(word: string): string {
  if (!/^[a-z]{3,64}$/.test(word)) return word;
  return [dropPlural, dropPast, turnY, shortenLong, shortenMore, dropSuffix, dropE].reduce(
    (left, step) => step(left),
    word,
  );
}

// In the rules below a word is [C](VC)^m[V], where C and V are runs of consonants and of vowels, and `m` is its measure.

const vowel = /[aeiou]/;
const isVowel = (word: string, place: number): boolean => {
  const letter = word[place] ?? '';
  return vowel.test(letter) || (letter === 'y' && place > 0 && !isVowel(word, place - 1));
};

const shapeOf = (word: string): string => Array.from(word, (_, place) => (isVowel(word, place) ? 'v' : 'c')).join('');

const measure = (word: string): number => shapeOf(word).match(/vc/g)?.length ?? 0;
const hasVowel = (word: string): boolean => shapeOf(word).includes('v');
const endsDouble = (word: string): boolean => /([^aeiou])\1$/.test(word) && !isVowel(word, word.length - 1);
/** Consonant, vowel, consonant, the last not w, x or y: a word with this ending has lost an e (`hop` from `hope`). */
const endsShort = (word: string): boolean => shapeOf(word).endsWith('cvc') && !/[wxy]$/.test(word);

function dropPlural(word: string): string {
  if (/.(?:sses|ies)$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

function dropPast(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const cut = /(?:ed|ing)$/.exec(word);
  if (!cut || !hasVowel(word.slice(0, cut.index))) return word;
  const left = word.slice(0, cut.index);
  if (/(?:at|bl|iz)$/.test(left)) return `${left}e`;
  if (endsDouble(left) && !/[lsz]$/.test(left)) return left.slice(0, -1);
  return measure(left) === 1 && endsShort(left) ? `${left}e` : left;
}

const turnY = (word: string): string =>
  word.endsWith('y') && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;

type Endings = readonly (readonly [ending: string, instead: string])[];

const longEndings: Endings = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
  ['logi', 'log'],
];

const moreEndings: Endings = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
];

const suffixes = 'al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize'.split(' ');

const shortenLong = (word: string): string => exchange(word, longEndings);
const shortenMore = (word: string): string => exchange(word, moreEndings);

/** The longest ending that matches decides, also when the rest is too short to lose it. */
function exchange(word: string, endings: Endings): string {
  const fitting = endings.filter(([ending]) => word.endsWith(ending)).sort((a, b) => b[0].length - a[0].length)[0];
  if (!fitting) return word;
  const left = word.slice(0, -fitting[0].length);
  return measure(left) > 0 ? left + fitting[1] : word;
}

function dropSuffix(word: string): string {
  const suffix = suffixes.filter((ending) => word.endsWith(ending)).sort((a, b) => b.length - a.length)[0];
  if (suffix === undefined) return word;
  const left = word.slice(0, -suffix.length);
  if (measure(left) < 2 || (suffix === 'ion' && !/[st]$/.test(left))) return word;
  return left;
}

function dropE(word: string): string {
  const left = word.endsWith('e') ? word.slice(0, -1) : word;
  const bare = measure(left) > 1 || (measure(left) === 1 && !endsShort(left)) ? left : word;
  return bare.endsWith('ll') && measure(bare) > 1 ? bare.slice(0, -1) : bare;
}
