import type { Memory } from '@agent-workflow/client';
import { useId } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { Failure } from '../../ui/patterns/failure.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { isForgotten } from './forgotten.ts';
import { comparedOf, searchOf, type ComparedSearch, type MemoryPlace } from './memory-address.ts';
import { MemoryRow } from './memory-row.tsx';
import { soughtIn, type SoughtWords } from './met-words.ts';

type Query = Readonly<Record<string, string>>;

interface ComparedSearchesProps {
  readonly place: MemoryPlace;
  /** The selection of the address. */
  readonly query: Query;
}

/** One query by every strategy, or by every metric, in columns beside each other. */
export function ComparedSearches({ place, query }: ComparedSearchesProps) {
  const sought = soughtIn(place.search);
  const { compare: _, ...single } = query;
  return (
    <div class="compared-searches">
      {comparedOf(place).map((search) => (
        <Column key={search.title} search={search} sought={sought} query={{ ...single, ...search.query }} />
      ))}
    </div>
  );
}

interface ColumnProps {
  readonly search: ComparedSearch;
  readonly sought: SoughtWords;
  /** The address of this search by itself. */
  readonly query: Query;
}

function Column({ search, sought, query }: ColumnProps) {
  const heading = useId();
  const asked = searchOf(search.place);
  const { state, again } = useLoaded(
    async (signal) => (await client.memories.search(asked, { signal })).results,
    [JSON.stringify(asked)],
  );
  const { value, error, isLoading } = state.value;
  return (
    <section class="compared-column" aria-labelledby={heading} aria-busy={isLoading}>
      <h2 id={heading}>
        <a href={toHash({ view: 'memory', query })}>{search.title}</a>
      </h2>
      <p class="hint">{search.hint}</p>
      {error !== undefined && <Failure error={error} retry={again} />}
      {value && error === undefined && <Results {...{ results: value, sought, query }} />}
      {!value && isLoading && <Skeleton rows={4} />}
    </section>
  );
}

interface ResultsProps {
  readonly results: readonly Memory[];
  readonly sought: SoughtWords;
  readonly query: Query;
}

function Results({ results, sought, query }: ResultsProps) {
  const left = results.filter(({ id }) => !isForgotten(id));
  if (left.length === 0) return <p class="hint">Nothing is found.</p>;
  return (
    <ol class="plain">
      {left.map((memory) => (
        <li key={memory.id}>
          <RawOnFault raw={memory}>
            <MemoryRow
              {...{ memory, sought }}
              href={toHash({ view: 'memory', id: memory.id, query })}
              isOpen={false}
              isFound
            />
          </RawOnFault>
        </li>
      ))}
    </ol>
  );
}
