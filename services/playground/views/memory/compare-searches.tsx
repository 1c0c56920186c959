import type { Memory } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { columnsOf, firstBoxes, type Column, type SearchBoxes } from './comparison.ts';
import { MemoryCard } from './memory-card.tsx';
import { useMemoryDialogs, type OpenDialog } from './dialogs.ts';
import { MemoryDialogs } from './memory-dialogs.tsx';
import { SearchForm } from './search-form.tsx';
import type { Faults } from './selection.ts';

/** One query by every strategy, or by every metric, in columns beside each other. */
export function CompareSearches() {
  const boxes = useSignal<SearchBoxes>(firstBoxes);
  const faults = useSignal<Faults>({});
  const refusals = useSignal(0);
  const columns = useSignal<readonly Column[]>([]);
  /** Counts searches: the same boxes may be searched again. */
  const turn = useSignal(0);
  const dialogs = useMemoryDialogs(() => {
    turn.value++;
  });
  const search = (): void => {
    const read = columnsOf(boxes.value);
    faults.value = 'faults' in read ? read.faults : {};
    if ('faults' in read) {
      refusals.value++;
      return;
    }
    columns.value = read.value;
    turn.value++;
  };
  return (
    <>
      <SearchForm boxes={boxes} faults={faults.value} refusals={refusals.value} onSearch={search} />
      <p class="notice" role="status">
        {dialogs.notice.value}
      </p>
      {columns.value.length === 0 ? (
        <p class="hint">Search to see what each strategy finds, in which order and with which scores.</p>
      ) : (
        <div class="compare">
          {columns.value.map((column) => (
            <ResultColumn key={column.title} column={column} turn={turn.value} open={dialogs.open} />
          ))}
        </div>
      )}
      <MemoryDialogs dialogs={dialogs} />
    </>
  );
}

interface ResultColumnProps {
  readonly column: Column;
  readonly turn: number;
  readonly open: (dialog: OpenDialog) => void;
}

function ResultColumn({ column, turn, open }: ResultColumnProps) {
  const heading = useId();
  const { state, again } = useLoaded((signal) => client.memories.search(column.query, { signal }), [turn]);
  const { value, error, isLoading } = state.value;
  return (
    <section class="compare-column" aria-labelledby={heading} aria-busy={isLoading}>
      <h2 id={heading}>{column.title}</h2>
      <p class="hint small">{column.hint}</p>
      {error !== undefined && <ErrorNote error={error} again={again} />}
      {value && error === undefined && <Results results={value.results} open={open} />}
      {!value && isLoading && <p class="hint">Searching …</p>}
    </section>
  );
}

function Results({
  results,
  open,
}: {
  readonly results: readonly Memory[];
  readonly open: (dialog: OpenDialog) => void;
}) {
  if (results.length === 0) return <p class="hint">Nothing is found.</p>;
  return (
    <ol class="plain">
      {results.map((memory) => (
        <li key={memory.id}>
          <RawOnFault raw={memory}>
            <MemoryCard
              memory={memory}
              isFound
              onEdit={() => open({ kind: 'edit', memory })}
              onForget={() => open({ kind: 'forget', memory })}
            />
          </RawOnFault>
        </li>
      ))}
    </ol>
  );
}
