import type { Memory } from '@agent-workflow/client';
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { rankingOf, type Ranking } from './evidence.ts';
import { searchOf, type MemoryPlace } from './memory-address.ts';
import { soughtIn, type SoughtWords } from './met-words.ts';

/** What was found, and what each search by itself says of it. */
export interface FoundMemories {
  /** Absent until the first reply. */
  readonly results: readonly Memory[] | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly again: () => void;
  /** By the strategy of the search. */
  readonly together: Ranking | undefined;
  /** By the meaning alone, and by the words alone; absent until they are known. */
  readonly meaning: Ranking | undefined;
  readonly words: Ranking | undefined;
  readonly sought: SoughtWords;
}

/** How many memories the searches by meaning alone and by words alone rank. */
const ranked = 100;

/**
 * Searches by the strategy of the place, and twice more to say why: by meaning alone, and by words alone. What is found stands before
 * those two are there, and also where they fail. Nothing is searched for where the place has no text.
 */
export function useFoundMemories(place: MemoryPlace): FoundMemories {
  const isSearch = place.search !== '';
  const input = JSON.stringify(searchOf(place));
  const search = async (asked: MemoryPlace, signal: AbortSignal): Promise<readonly Memory[] | undefined> =>
    isSearch ? (await client.memories.search(searchOf(asked), { signal })).results : undefined;
  const found = useLoaded((signal) => search(place, signal), [isSearch, input]);
  const alone = { ...place, least: 0, limit: ranked };
  const isByMeaning = place.strategy === 'similarity' && place.least === 0;
  const near = useLoaded(
    async (signal) =>
      isByMeaning ? undefined : search({ ...alone, strategy: 'similarity', options: undefined }, signal),
    [isSearch, input],
  );
  const worded = useLoaded(
    (signal) => search({ ...alone, strategy: 'hybrid', options: { alpha: 0 } }, signal),
    [isSearch, input],
  );
  const { value: results, error, isLoading } = found.state.value;
  const together = results && rankingOf(results, place.limit);
  const { value: nearest } = near.state.value;
  const { value: byWords } = worded.state.value;
  return {
    ...{ results, error, isLoading, together },
    meaning: isByMeaning ? together : nearest && rankingOf(nearest, ranked),
    words: byWords && rankingOf(byWords, ranked),
    sought: useMemo(() => soughtIn(place.search), [place.search]),
    again: () => {
      for (const each of [found, near, worded]) each.again();
    },
  };
}
