/** The same numbers for the same seed, from 0 to 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  };
}

const syllables = ['ka', 'lo', 'mi', 'ne', 'ru', 'sa', 'ti', 'vo', 'we', 'zu', 'bra', 'fen'];
const wordsInAll = 1500;

/** A text of some of 1,500 words, of which those with small numbers are frequent, as in a language. */
export function textOf(random: () => number, words = 4 + Math.floor(random() * 20)): string {
  const word = (): string => {
    let number = Math.floor(random() ** 2 * wordsInAll);
    let text = '';
    do {
      text += syllables[number % syllables.length] ?? '';
      number = Math.floor(number / syllables.length);
    } while (number > 0);
    return text;
  };
  return Array.from({ length: words }, word).join(' ');
}

/** A document that is shared: its key is its place. */
export interface SharedDocument {
  readonly key: string;
  readonly content: string;
}

export const scope = 'shared:handbook';

export function documentsOf(count: number): readonly SharedDocument[] {
  const random = randomOf(7);
  return Array.from({ length: count }, (_, at) => ({
    key: `page ${String(at)}`,
    content: `${textOf(random)} page${String(at)}`,
  }));
}
