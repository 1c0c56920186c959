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
  const known = stemsOf(fact);
  return asked.filter(({ stem }) => known.some((other) => isNear(stem, other.stem))).length;
}

interface Stem {
  readonly word: string;
  readonly stem: string;
}

const stemsOf = (text: string): readonly Stem[] =>
  [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))].map((word) => ({
    word,
    stem: word.replace(/(?:ing|ed|es|s|e)$/u, '') || word,
  }));

const shortest = 4;

/** The same word, or one that begins with the other: "colour" and "colourful". */
const isNear = (one: string, other: string): boolean =>
  one === other || (Math.min(one.length, other.length) >= shortest && (one.startsWith(other) || other.startsWith(one)));
