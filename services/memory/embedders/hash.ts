import { limitMarks } from '@agent-workflow/kit/fold-text';
import { toUnit } from '../vectors/unit.ts';
import type { Embedder } from '../ports/embedder.ts';

const dimension = 384;

/** The weight of a word by its length: short words are mostly grammar. */
const wordWeights = [0, 0.2, 0.3, 0.5];
const pairWeight = 0.6;

/**
 * Embeds without a model: it counts words, pairs of words and character n-grams, and adds each to the one of 384 numbers that its hash
 * selects. Texts are near when they share words or parts of words; it knows nothing of meaning. The same text gives the same vector
 * on every machine.
 */
export const hashEmbedder: Embedder = {
  model: 'hash-v1',
  dimension,
  embed: async (texts) => Promise.resolve(texts.map(embedText)),
};

function embedText(text: string): Float32Array {
  const words = wordsOf(text);
  const features = createFeatures(words);
  let before = 0;
  for (const [index, word] of words.entries()) {
    const hash = hashOf(word);
    features.add(hash, wordWeights[word.length] ?? 1);
    if (index > 0) features.add(mix(before, hash), pairWeight);
    addGrams(features, word);
    before = hash;
  }
  return features.toVector();
}

/** The words of letters and digits; a text without any is split at its spaces. */
function wordsOf(text: string): readonly string[] {
  const folded = limitMarks(text).normalize('NFKC').toLowerCase();
  return folded.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? folded.match(/\S+/g) ?? [];
}

/** The character n-grams of a word. */
interface Grams {
  readonly shortest: number;
  readonly longest: number;
  /** How many edge characters are added before and after the word. */
  readonly edges: number;
  readonly weight: number;
}

/** Three to five characters, so that inflections and typing errors stay near. */
const spacedGrams: Grams = { shortest: 3, longest: 5, edges: 1, weight: 0.3 };
/** For scripts without spaces, where a run of letters has many words, most of them one or two characters long. */
const unspacedGrams: Grams = { shortest: 1, longest: 3, edges: 0, weight: 0.6 };
const unspaced = /[\u2e80-\ud7ff]/;

function addGrams(features: Features, word: string): void {
  const { shortest, longest, edges, weight } = unspaced.test(word) ? unspacedGrams : spacedGrams;
  for (let from = -edges; from + shortest <= word.length + edges; from += 1) {
    const end = Math.min(from + longest, word.length + edges);
    let hash = gramSeed;
    for (let index = from; index < end; index += 1) {
      hash = step(hash, index < 0 || index >= word.length ? edge : word.charCodeAt(index));
      const length = index - from + 1;
      if (length >= shortest) features.add(mix(hash, length), weight);
    }
  }
}

/** The features of a text by their hashes: how often each occurs, and its weight. */
interface Features {
  readonly add: (hash: number, weight: number) => void;
  readonly toVector: () => Float32Array;
}

/** A hash table on typed arrays: a Map takes three times as long, and this is most of the work of embedding. */
function createFeatures(words: readonly string[]): Features {
  const capacity = capacityFor(words);
  const hashes = new Int32Array(capacity);
  const times = new Int32Array(capacity);
  const weights = new Float32Array(capacity);
  return {
    add: (hash, weight) => {
      let slot = hash & (capacity - 1);
      while (times[slot] !== 0 && hashes[slot] !== (hash | 0)) slot = (slot + 1) & (capacity - 1);
      hashes[slot] = hash;
      weights[slot] = weight;
      times[slot] = (times[slot] ?? 0) + 1;
    },
    toVector: () => {
      const vector = new Float64Array(dimension);
      for (let slot = 0; slot < capacity; slot += 1) {
        const count = times[slot] ?? 0;
        if (count > 0) addTo(vector, hashes[slot] ?? 0, (weights[slot] ?? 0) * damp(count));
      }
      return toUnit(vector);
    },
  };
}

/** A power of two that is larger than the number of all features: three n-grams a character, and the words and pairs. */
function capacityFor(words: readonly string[]): number {
  const features = words.reduce((sum, word) => sum + (word.length + 2) * 4, 0);
  return 2 ** Math.ceil(Math.log2((features + 2) * 1.25));
}

/** A feature that occurs more often counts more, by the logarithm. */
const damp = (times: number): number => (times === 1 ? 1 : 1 + Math.log(times));

/** Half of the hashes subtract, so that features that share a number cancel out on average. */
function addTo(vector: Float64Array, hash: number, weight: number): void {
  const mixed = mix(hash, dimension);
  const index = (mixed >>> 1) % dimension;
  vector[index] = (vector[index] ?? 0) + (mixed & 1 ? weight : -weight);
}

const wordSeed = 0x811c9dc5;
const gramSeed = 0x2f6b17a3;
const edge = 0x20;

/** FNV-1a, one character at a time. */
const step = (hash: number, character: number): number => Math.imul(hash ^ character, 0x01000193);

function hashOf(text: string): number {
  let hash = wordSeed;
  for (let i = 0; i < text.length; i += 1) hash = step(hash, text.charCodeAt(i));
  return hash;
}

/** Spreads two numbers over all 32 bits, as MurmurHash3 ends. */
function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
