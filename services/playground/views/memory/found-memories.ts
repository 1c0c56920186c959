import type { JsonObject, Memory } from '@agent-workflow/client';
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

/** What one search has found, with what was asked: replies of several searches come one by one. */
interface Reply {
  readonly place: MemoryPlace;
  readonly results: readonly Memory[];
}

/**
 * Searches by the strategy of the place, and when that has found something twice more to say why: by meaning alone, and by words alone. What
 * is found stands before those two are there, and also where they fail; they are not asked again where the same query finds more. Nothing
 * is searched for where the place has no text.
 */
export function useFoundMemories(place: MemoryPlace): FoundMemories {
  const found = useLoaded((signal) => search(place, signal), [JSON.stringify(searchOf(place))]);
  const { value: reply, error, isLoading } = found.state.value;
  const shown = reply?.place;
  const isByMeaning = shown?.strategy === 'similarity' && shown.least === 0;
  const byMeaning = shown && !isByMeaning ? aloneOf(shown, 'similarity') : undefined;
  const byWords = shown && aloneOf(shown, 'hybrid', { alpha: 0 });
  const near = useAlone(byMeaning);
  const worded = useAlone(byWords);
  const together = reply && rankingOf(reply.results, reply.place.limit);
  return {
    ...{ results: reply?.results, error, isLoading, together },
    meaning: isByMeaning ? together : near.ranking,
    words: worded.ranking,
    sought: useMemo(() => soughtIn(place.search), [place.search]),
    again: () => {
      for (const each of [found, near, worded]) each.again();
    },
  };
}

async function search(place: MemoryPlace, signal: AbortSignal): Promise<Reply | undefined> {
  if (place.search === '') return undefined;
  return { place, results: (await client.memories.search(searchOf(place), { signal })).results };
}

const aloneOf = (shown: MemoryPlace, strategy: MemoryPlace['strategy'], options?: JsonObject): MemoryPlace => ({
  ...{ ...shown, strategy, options, least: 0, limit: ranked },
});

/** The ranking of a search by itself; absent until the search of this place has answered. */
function useAlone(place: MemoryPlace | undefined) {
  const key = place && JSON.stringify(searchOf(place));
  const { state, again } = useLoaded(async (signal) => place && search(place, signal), [key]);
  const { value } = state.value;
  const isOfPlace = value !== undefined && JSON.stringify(searchOf(value.place)) === key;
  return { again, ranking: isOfPlace ? rankingOf(value.results, ranked) : undefined };
}
