import '../../styles/memory.css';
import type { Memory } from '@agent-workflow/client';
import { useSignal } from '@preact/signals';
import { useKeys } from '../../session/keys.ts';
import { usePages } from '../../session/pages.ts';
import { useRefresh } from '../../session/refresh.ts';
import { go, route } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { isRead } from '../../ui/new-items.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { ComparedSearches } from './compared-searches.tsx';
import { useFoundMemories } from './found-memories.ts';
import { memorySelectionOf, readMemoryPlace, type Faults, type MemoryPlace } from './memory-address.ts';
import { MemoryFilters, select } from './memory-filters.tsx';
import { MemoryForm } from './memory-form.tsx';
import { MemoryList, type ListedMemories } from './memory-list.tsx';
import { MemoryPane } from './memory-pane.tsx';

type Query = Readonly<Record<string, string>>;

/** The memories of the reader: the newest, what a search finds and why, and the one that is open. */
export function MemoryView() {
  const { id, query } = route.value;
  const selection = memorySelectionOf(query);
  const read = readMemoryPlace(selection);
  if ('faults' in read) return <Unreadable query={selection} faults={read.faults} />;
  const { value: place } = read;
  if (place.compared !== undefined && place.search !== '' && id === undefined)
    return <Compared place={place} query={selection} />;
  return <Memories place={place} query={selection} id={id} />;
}

/** An address that somebody typed may say what cannot be read: a list of other memories would be a wrong answer. */
function Unreadable({ query, faults }: { readonly query: Query; readonly faults: Faults }) {
  useTitle('Memory');
  return (
    <ListPane title="Memory" filters={<MemoryFilters query={query} />}>
      {Object.entries(faults).map(([name, fault]) => (
        <p key={name} class="note note-error" role="alert">
          {fault}, so no memory is listed.
        </p>
      ))}
    </ListPane>
  );
}

/** Searches side by side take the whole width. */
function Compared({ place, query }: { readonly place: MemoryPlace; readonly query: Query }) {
  useTitle('Memory, compared');
  const other = place.compared === 'strategies' ? 'metrics' : 'strategies';
  return (
    <ListPane
      title="Memory"
      actions={
        <>
          <button type="button" class="button-quiet" onClick={() => select({ compare: other })}>
            Compare {other}
          </button>
          <button type="button" onClick={() => select({ compare: '' })}>
            End comparison
          </button>
        </>
      }
      filters={<MemoryFilters query={query} />}
    >
      <ComparedSearches place={place} query={query} />
    </ListPane>
  );
}

const pageSize = 100;

/** How often the newest are read again, in milliseconds: each brings its vector along. */
const refreshMs = 30_000;

interface MemoriesProps {
  readonly place: MemoryPlace;
  readonly query: Query;
  readonly id: string | undefined;
}

function Memories({ place, query, id }: MemoriesProps) {
  const listed = useListed(place);
  const found = useFoundMemories(place);
  const isMaking = useSignal(false);
  const make = (): void => {
    isMaking.value = true;
  };
  useKeys([{ keys: '', text: 'New memory', group: 'Memory', isAction: true, run: make }]);
  const shown = place.search === '' ? listed.state.value.items : (found.results ?? []);
  const again = place.search === '' ? listed.again : found.again;
  const onChanged = (changed: Memory): void => {
    listed.edit((items) => items.map((each) => (each.id === changed.id ? changed : each)));
    // More than one page is not read again: the reader's place in it would be lost.
    if (place.search !== '' || listed.state.peek().items.length <= pageSize) again();
  };
  return (
    <>
      <Panes
        hasDetail={id !== undefined}
        isListWide
        list={<MemoryList {...{ listed, found, place, query }} openId={id} onNew={make} />}
        detail={
          <RawOnFault key={id}>
            {id === undefined ? (
              <NoMemory />
            ) : (
              <MemoryPane {...{ id, query, place, found }} listed={memoryOf(shown, id)} onChanged={onChanged} />
            )}
          </RawOnFault>
        }
      />
      {isMaking.value && (
        <MemoryForm
          scope={place.selection.scope}
          onClose={() => {
            isMaking.value = false;
          }}
          onSaved={(made) => {
            again();
            go({ view: 'memory', id: made, query });
          }}
        />
      )}
    </>
  );
}

const memoryOf = (items: readonly Memory[], id: string): Memory | undefined => items.find((each) => each.id === id);

function NoMemory() {
  useTitle('Memory');
  return (
    <Blank
      title="No memory is open"
      text="Choose one to see where it comes from. Search with the words of an answer to see what the agent may have it from."
    />
  );
}

/** The newest memories of a place that is no search, page by page; the first page is read again while nobody reads it. */
function useListed({ search, selection }: MemoryPlace): ListedMemories {
  const total = useSignal<number | undefined>(undefined);
  const pages = usePages(
    async (cursor, signal) => {
      if (search !== '') return { items: [], cursor: undefined };
      const query = { ...selection, limit: pageSize, ...(cursor !== undefined && { cursor }) };
      const page = await client.memories.list(query, { signal });
      total.value = page.total;
      return { items: page.memories, cursor: page.cursor };
    },
    [search === '', JSON.stringify(selection)],
  );
  useRefresh(() => {
    const isFirst = pages.state.peek().items.length <= pageSize;
    if (search === '' && isFirst && !isRead(document.querySelector('.memory-rows'))) pages.again();
  }, refreshMs);
  return { ...pages, total };
}
