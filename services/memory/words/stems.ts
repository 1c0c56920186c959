/** The stem of one word in lower case. A word with other characters than a to z is returned as it is. */
export function stemOf(word: string): string {
  if (!/^[a-z]{3,64}$/.test(word)) return word;
  return [dropPlural, dropPast, turnY, shortenLong, shortenMore, dropSuffix, dropE].reduce(
    (left, step) => step(left),
    word,
  );
}

// In the rules below a word is [C](VC)^m[V], where C and V are runs of consonants and of vowels, and `m` is its measure.

/** The word with `v` for each vowel and `c` for each consonant; a y behind a consonant is a vowel. */
function shapeOf(word: string): string {
  let shape = '';
  for (const letter of word) {
    const isVowel = 'aeiou'.includes(letter) || (letter === 'y' && shape.endsWith('c'));
    shape += isVowel ? 'v' : 'c';
  }
  return shape;
}

const measure = (word: string): number => shapeOf(word).split('vc').length - 1;
const hasVowel = (word: string): boolean => shapeOf(word).includes('v');
const endsDouble = (word: string): boolean => /([^aeiou])\1$/.test(word) && shapeOf(word).endsWith('c');
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

/** Longer ones come first. */
const longEndings: Endings = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['logi', 'log'],
  ['bli', 'ble'],
  ['eli', 'e'],
];

const moreEndings: Endings = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];

const suffixes = 'ement ance ence able ible ment ant ent ion ism ate iti ous ive ize al er ic ou'.split(' ');

const shortenLong = (word: string): string => exchange(word, longEndings);
const shortenMore = (word: string): string => exchange(word, moreEndings);

/** The first ending that matches decides, also when the rest is too short to lose it. */
function exchange(word: string, endings: Endings): string {
  const fitting = endings.find(([ending]) => word.endsWith(ending));
  if (!fitting) return word;
  const left = word.slice(0, -fitting[0].length);
  return measure(left) > 0 ? left + fitting[1] : word;
}

function dropSuffix(word: string): string {
  const suffix = suffixes.find((ending) => word.endsWith(ending));
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
