import { route, toHash } from '../../session/route.ts';
import { useTitle } from '../../ui/title.ts';
import type { Memory, MemorySelection } from '@agent-workflow/client';
import { useSignal, type Signal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { useLoaded } from '../../session/loaded.ts';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { columnsOf, firstBoxes, type Column, type SearchBoxes } from './comparison.ts';
import { MemoryCard } from './memory-card.tsx';
import { useMemoryDialogs, type OpenDialog } from './dialogs.ts';
import { MemoryDialogs } from './memory-dialogs.tsx';
import { type Faults, memoriesText, noSelection, readSelection, type SelectionBoxes } from './selection.ts';
import { useFaultFocus } from '../../ui/forms/fault-focus.ts';
import { Box } from './box.tsx';
import { metrics, namesOf, strategies } from './memory-shapes.ts';
import { SelectionFields } from './selection-boxes.tsx';
import { usePages } from '../../session/pages.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';

/** The memories of the reader: searches beside each other, and the list of all. */
export function MemoryView() {
  const isList = route.value.query['tab'] === 'all';
  useTitle(isList ? 'All memories' : 'Memory');
  return (
    <div class="memory">
      <div class="pane-head">
        <h1>Memory</h1>
        <nav class="memory-tabs" aria-label="Memory">
          <a href={toHash({ view: 'memory' })} aria-current={isList ? undefined : 'page'}>
            Search
          </a>
          <a href={toHash({ view: 'memory', query: { tab: 'all' } })} aria-current={isList ? 'page' : undefined}>
            All memories
          </a>
        </nav>
      </div>
      {isList ? <AllMemories /> : <CompareSearches />}
    </div>
  );
}

/** One query by every strategy, or by every metric, in columns beside each other. */
function CompareSearches() {
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

interface SearchFormProps {
  readonly boxes: Signal<SearchBoxes>;
  readonly faults: Faults;
  /** How often the form was refused. */
  readonly refusals: number;
  readonly onSearch: () => void;
}

const choices = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, name]));

/** What is looked for, what narrows it, and what the columns compare. */
function SearchForm({ boxes, faults, refusals, onSearch }: SearchFormProps) {
  const form = useFaultFocus<HTMLFormElement>(refusals);
  const given = boxes.value;
  const onText = (name: string, text: string): void => {
    boxes.value = { ...boxes.value, [name]: text };
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    onSearch();
  };
  return (
    <form ref={form} class="memory-form" role="search" aria-label="Memories" noValidate onSubmit={onSubmit}>
      <div class="query-row">
        <Box
          label="Query"
          name="query"
          value={given.query}
          onText={onText}
          fault={faults['query']}
          input={{ type: 'search' }}
        />
        <button type="submit">Search</button>
      </div>
      <div class="box-grid">
        <Box
          label="Columns"
          name="compare"
          value={given.compare}
          onText={onText}
          options={{ strategies: 'per strategy', metrics: 'per metric' }}
        />
        {given.compare === 'strategies' ? (
          <Box label="Metric" name="metric" value={given.metric} onText={onText} options={choices(namesOf(metrics))} />
        ) : (
          <Box
            label="Strategy"
            name="strategy"
            value={given.strategy}
            onText={onText}
            options={choices(namesOf(strategies))}
          />
        )}
        <Box
          label="Limit"
          name="limit"
          value={given.limit}
          onText={onText}
          fault={faults['limit']}
          input={{ type: 'number', min: 1, max: 1000 }}
        />
        <Box
          label="Least score"
          name="score_threshold"
          value={given.score_threshold}
          onText={onText}
          fault={faults['score_threshold']}
          input={{ type: 'number', min: 0, max: 1, step: 'any' }}
        />
        <SelectionFields boxes={given} faults={faults} onText={onText} />
        <Box
          label="Options"
          name="options"
          value={given.options}
          onText={onText}
          fault={faults['options']}
          input={{ placeholder: '{"alpha": 0.5}', class: 'code' }}
        />
      </div>
    </form>
  );
}

const pageSize = 100;

/** The memories that meet the conditions, newest first: added, changed and forgotten here. */
function AllMemories() {
  const boxes = useSignal<SelectionBoxes>(noSelection);
  const faults = useSignal<Faults>({});
  const refusals = useSignal(0);
  const form = useFaultFocus<HTMLFormElement>(refusals.value);
  const selection = useSignal<MemorySelection>({});
  const total = useSignal<number | undefined>(undefined);
  const turn = useSignal(0);
  const memories = usePages(
    async (cursor, signal) => {
      const query = { ...selection.value, limit: pageSize, ...(cursor !== undefined && { cursor }) };
      const page = await client.memories.list(query, { signal });
      total.value = page.total;
      return { items: page.memories, cursor: page.cursor };
    },
    [selection.value, turn.value],
  );
  const dialogs = useMemoryDialogs(() => {
    turn.value++;
  });
  const onText = (name: string, text: string): void => {
    boxes.value = { ...boxes.value, [name]: text };
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const read = readSelection(boxes.value);
    faults.value = 'faults' in read ? read.faults : {};
    if ('value' in read) selection.value = read.value;
    else refusals.value++;
  };
  const { items, isLoading, error } = memories.state.value;
  const isSame = JSON.stringify(readSelection(boxes.value)) === JSON.stringify({ value: selection.value });
  return (
    <div class="all-memories">
      <form ref={form} class="memory-form" aria-label="Which memories" noValidate onSubmit={onSubmit}>
        <div class="box-grid">
          <SelectionFields boxes={boxes.value} faults={faults.value} onText={onText} />
        </div>
        <div class="row">
          <button type="submit">Show</button>
          <button type="button" onClick={() => dialogs.open({ kind: 'add' })}>
            Add a memory …
          </button>
          <button
            type="button"
            class="danger"
            disabled={!isSame || total.value === undefined || total.value === 0}
            onClick={() => dialogs.open({ kind: 'forget-selection', selection: selection.value })}
          >
            Forget those shown …
          </button>
          <span class="hint" role="status">
            {sentenceOf(total.value, isSame)}
          </span>
        </div>
      </form>
      <p class="notice" role="status">
        {dialogs.notice.value}
      </p>
      {items.length === 0 && !isLoading && error === undefined ? (
        <p class="hint">No memory is found.</p>
      ) : (
        <VirtualList
          label="Memories"
          items={items}
          estimate={110}
          keyOf={(memory) => memory.id}
          render={(memory) => (
            <MemoryCard
              memory={memory}
              isFound={false}
              onEdit={() => dialogs.open({ kind: 'edit', memory })}
              onForget={() => dialogs.open({ kind: 'forget', memory })}
            />
          )}
        />
      )}
      <LoadMore
        pages={memories.state.value}
        thing="memory"
        things="memories"
        more={memories.more}
        again={memories.again}
      />
      <MemoryDialogs dialogs={dialogs} />
    </div>
  );
}

function sentenceOf(total: number | undefined, isSame: boolean): string {
  if (!isSame) return 'Show the changed conditions before you forget by them.';
  return total === undefined ? '' : `${memoriesText(total)} in all`;
}
