import type { Memory } from '@agent-workflow/client';

/** How one search scored a memory. */
interface Evidence {
  /** From 0 to 1. */
  readonly score: number;
  /** Its place among what was found, from 1; absent where it is not among it, so that its score is known in another way. */
  readonly rank?: number;
}

/** What was found by one search, by the ids of the memories. */
export interface Ranking {
  readonly of: ReadonlyMap<string, Evidence>;
  readonly count: number;
  /** The score of all that is not among it, where that is known. */
  readonly rest: number | undefined;
}

/** The ranking that results of a search are, which was asked for `limit` of them. */
export function rankingOf(results: readonly Pick<Memory, 'id' | 'score'>[], limit: number): Ranking {
  const of = new Map(results.map(({ id, score }, at) => [id, { score, rank: at + 1 }]));
  // What comes behind a result without a score has none either.
  const isKnown = results.length < limit || results.at(-1)?.score === 0;
  return { of, count: results.length, rest: isKnown ? 0 : undefined };
}

/** What a ranking says of a memory; `undefined` where the memory is behind the last that was found. */
export function evidenceOf(ranking: Ranking | undefined, id: string): Evidence | undefined {
  if (!ranking) return undefined;
  return ranking.of.get(id) ?? (ranking.rest === undefined ? undefined : { score: ranking.rest });
}

/** A score as the page writes it: `0.91`. */
export const scoreText = (score: number): string => score.toFixed(2);

const endings = ['th', 'st', 'nd', 'rd'];

/** `1st`, `2nd`, `11th`. */
export function ordinal(count: number): string {
  const [tens, ones] = [Math.floor(count / 10) % 10, count % 10];
  return `${String(count)}${(tens === 1 ? undefined : endings[ones]) ?? 'th'}`;
}
