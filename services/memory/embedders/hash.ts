import { limitMarks } from '../words/combining-marks.ts';
import type { Embedder } from '../ports/port.ts';

const dimension = 384;

/** How much a word says, by its length: short ones are mostly grammar. */
const wordWeights = [0, 0.2, 0.3, 0.5];
const pairWeight = 0.6;

/**
 * Embeds without a model: words, pairs of words and pieces of words are counted, and each of them adds to one of 384
 * numbers that its hash chooses. Texts are near when they share words or parts of words; it knows nothing of meaning.
 * The same text gives the same vector on every machine.
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
    addPieces(features, word);
    before = hash;
  }
  return features.toVector();
}

/** Words of letters and digits; what else stands there when there are none. */
function wordsOf(text: string): readonly string[] {
  const folded = limitMarks(text).normalize('NFKC').toLowerCase();
  return folded.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? folded.match(/\S+/g) ?? [];
}

interface Pieces {
  readonly shortest: number;
  readonly longest: number;
  /** How many places before and after the word count as its edge. */
  readonly edges: number;
  readonly weight: number;
}

/** Three to five characters in a row, so that inflections and typing errors stay near. */
const spacedPieces: Pieces = { shortest: 3, longest: 5, edges: 1, weight: 0.3 };
/** Scripts without spaces have their words inside what looks like one, most of them one or two characters long. */
const unspacedPieces: Pieces = { shortest: 1, longest: 3, edges: 0, weight: 0.6 };
const unspaced = /[\u2e80-\ud7ff]/;

function addPieces(features: Features, word: string): void {
  const { shortest, longest, edges, weight } = unspaced.test(word) ? unspacedPieces : spacedPieces;
  for (let from = -edges; from + shortest <= word.length + edges; from += 1) {
    const end = Math.min(from + longest, word.length + edges);
    let hash = pieceSeed;
    for (let place = from; place < end; place += 1) {
      hash = step(hash, place < 0 || place >= word.length ? edge : word.charCodeAt(place));
      const length = place - from + 1;
      if (length >= shortest) features.add(mix(hash, length), weight);
    }
  }
}

/** Each feature of a text, by its hash: how often it is there, and what it weighs. */
interface Features {
  readonly add: (hash: number, weight: number) => void;
  readonly toVector: () => Float32Array;
}

/** A hash table on plain arrays: a Map costs three times as much, and this is most of what embedding does. */
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

/** A power of two with room to spare for all there can be: three pieces a character, and the words and pairs. */
function capacityFor(words: readonly string[]): number {
  const pieces = words.reduce((sum, word) => sum + (word.length + 2) * 4, 0);
  return 2 ** Math.ceil(Math.log2((pieces + 2) * 1.25));
}

/** What is said often counts more, but less and less so. */
const damp = (times: number): number => (times === 1 ? 1 : 1 + Math.log(times));

/** Half of the hashes subtract, so that features sharing a number cancel out on average rather than pile up. */
function addTo(vector: Float64Array, hash: number, weight: number): void {
  const mixed = mix(hash, dimension);
  const place = (mixed >>> 1) % dimension;
  vector[place] = (vector[place] ?? 0) + (mixed & 1 ? weight : -weight);
}

const wordSeed = 0x811c9dc5;
const pieceSeed = 0x2f6b17a3;
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

function toUnit(vector: Float64Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const scale = squares === 0 ? 0 : 1 / Math.sqrt(squares);
  const unit = new Float32Array(vector.length);
  for (const [place, value] of vector.entries()) unit[place] = value * scale;
  return unit;
}
