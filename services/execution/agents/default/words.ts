const second: Readonly<Record<string, string>> = {
  i: 'you',
  "i'm": 'you are',
  'i am': 'you are',
  'i was': 'you were',
  "i've": 'you have',
  me: 'you',
  my: 'your',
  mine: 'yours',
  myself: 'yourself',
};

/** What the user says of himself, as the agent says it to him: "my tea" becomes "your tea". */
export const asYou = (text: string): string =>
  text
    .replaceAll('’', "'")
    .replace(/\b(?:i'm|i've|i am|i was|myself|mine|my|me|i)\b/gi, (word) => second[word.toLowerCase()] ?? word);

/** A text without those of the given characters that stand at its end. */
export function cutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Words that questions are made of, whatever they ask for. */
const small = new Set(
  `a about an and any anything are at be called can could did do does everything for from has have how i in is it know like
  likes me mine my name named of on or please recall remember should tell that the there they think this to us was we were
  what what's when where which who whose why will with would you your`.split(/\s+/),
);

/** How many of a question's own words a fact shares, in any form; `undefined` when the question has none. */
export function countShared(question: string, fact: string): number | undefined {
  const asked = stemsOf(question).filter(({ word }) => !small.has(word));
  if (asked.length === 0) return undefined;
  const known = new Set(stemsOf(fact).map(({ stem }) => stem));
  const beginnings = new Set([...known].flatMap(beginningsOf));
  const isNear = (stem: string): boolean =>
    known.has(stem) || beginnings.has(stem) || beginningsOf(stem).some((beginning) => known.has(beginning));
  return asked.filter(({ stem }) => isNear(stem)).length;
}

interface Stem {
  readonly word: string;
  readonly stem: string;
}

const stemsOf = (text: string): readonly Stem[] =>
  [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))].map((word) => ({
    word,
    stem: (word.replace(/(?:ing|ed|es|s|e)$/u, '') || word).slice(0, longest),
  }));

const shortest = 4;
const longest = 64;

/** Every beginning that makes two words near, the whole included: "colour" of "colourful". */
const beginningsOf = (stem: string): readonly string[] =>
  Array.from({ length: Math.max(0, stem.length - shortest + 1) }, (_, index) => stem.slice(0, shortest + index));
