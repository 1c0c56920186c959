import type { Memory } from '@agent-workflow/client';
import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { PagedList } from '../../session/pages.ts';
import { toHash } from '../../session/route.ts';
import { grouped } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { Menu } from '../../ui/patterns/menu.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { VirtualList } from '../../ui/patterns/virtual-list.tsx';
import { ForgetSelection } from './forget-selection.tsx';
import { isForgotten } from './forgotten.ts';
import type { FoundMemories } from './found-memories.ts';
import { mostFound, searchOf, type MemoryPlace } from './memory-address.ts';
import { MemoryFilters, select } from './memory-filters.tsx';
import { MemoryRow } from './memory-row.tsx';
import { strategies } from './memory-shapes.ts';
import { memoriesText } from './memory-words.ts';
import { endOfResults } from './list-end.ts';

type Query = Readonly<Record<string, string>>;

/** The memories of the reader, the newest first. */
export interface ListedMemories extends PagedList<Memory> {
  /** How many there are; `undefined` while that is not known. */
  readonly total: ReadonlySignal<number | undefined>;
}

interface MemoryListProps {
  readonly listed: ListedMemories;
  readonly found: FoundMemories;
  readonly place: MemoryPlace;
  /** The selection of the address. */
  readonly query: Query;
  readonly openId: string | undefined;
  readonly onNew: () => void;
}

/** The memories that the address selects: the newest first, or what a search has found, with the scores. */
export function MemoryList({ listed, found, place, query, openId, onNew }: MemoryListProps) {
  const isSearch = place.search !== '';
  return (
    <ListPane
      title="Memory"
      count={isSearch ? '' : <Total listed={listed} />}
      actions={<ListActions {...{ listed, place, isSearch, onNew }} />}
      filters={<MemoryFilters query={query} />}
    >
      <div class="memory-rows">
        {isSearch ? <Found {...{ found, place, query, openId }} /> : <Newest {...{ listed, query, openId, onNew }} />}
      </div>
    </ListPane>
  );
}

function Total({ listed: { total, state } }: { readonly listed: ListedMemories }) {
  const { value } = total;
  const { items, error } = state.value;
  if (value === undefined || value === 0 || (items.length === 0 && error !== undefined)) return null;
  const going = items.filter(({ id }) => isForgotten(id)).length;
  return <>{memoriesText(value - going)}</>;
}

interface ListActionsProps extends Pick<MemoryListProps, 'listed' | 'place' | 'onNew'> {
  readonly isSearch: boolean;
}

function ListActions({ listed, place, isSearch, onNew }: ListActionsProps) {
  const isAsked = useSignal(false);
  return (
    <>
      <button type="button" class="button-quiet button-sign" aria-label="New memory" title="New memory" onClick={onNew}>
        <Icon name="plus" />
      </button>
      {!isSearch && (listed.total.value ?? 0) > 0 && (
        <Menu
          label="More of these memories"
          items={[{ text: 'Forget all of these …', isDanger: true, onSelect: () => void (isAsked.value = true) }]}
        />
      )}
      {isAsked.value && (
        <ForgetSelection
          selection={place.selection}
          onClose={() => {
            isAsked.value = false;
          }}
          onForgotten={listed.again}
        />
      )}
    </>
  );
}

type NewestProps = Pick<MemoryListProps, 'listed' | 'query' | 'openId' | 'onNew'>;

function Newest({ listed, query, openId, onNew }: NewestProps) {
  const left = listed.state.value.items.filter(({ id }) => !isForgotten(id));
  return (
    <Listed
      {...rowsOf({ query, openId })}
      list={listed}
      items={left}
      entries={left}
      thing="memory"
      things="memories"
      isCounted
      none={<NoMemories query={query} onNew={onNew} />}
    />
  );
}

/** Nothing found is another case than nothing there. */
function NoMemories({ query, onNew }: { readonly query: Query; readonly onNew: () => void }) {
  if (Object.keys(query).length > 0)
    return (
      <Blank
        title="No memory is as you ask"
        action={
          <a class="button" href={toHash({ view: 'memory' })}>
            Show all memories
          </a>
        }
      />
    );
  return (
    <Blank
      title="No memory yet"
      text="A memory is a text that agents keep across conversations, and find again by its meaning, its words, its age and its relationships."
      action={
        <button type="button" class="button-first" onClick={onNew}>
          Store a memory
        </button>
      }
      docs="/docs/memory"
    />
  );
}

type FoundProps = Pick<MemoryListProps, 'found' | 'place' | 'query' | 'openId'>;

function Found({ found, place, query, openId }: FoundProps) {
  const { results, error, isLoading, again, meaning, words } = found;
  const key = JSON.stringify(searchOf(place));
  const wholeOf = useSignal<string | undefined>(undefined);
  if (error !== undefined) return <Failure error={error} retry={again} />;
  if (!results) return <Skeleton rows={8} />;
  const left = results.filter(({ id }) => !isForgotten(id));
  if (left.length === 0)
    return (
      <Blank
        title="No memory is found"
        text={place.least > 0 ? 'A lower least score may find some.' : 'The filters may leave none.'}
        action={
          <a class="button" href={toHash({ view: 'memory', query: { search: place.search } })}>
            Search all memories
          </a>
        }
      />
    );
  const count = wholeOf.value === key ? left.length : endOfResults(left, { place, meaning, words });
  const rest = left.length - count;
  const isFull = rest === 0 && results.length >= place.limit && place.limit < mostFound;
  return (
    <>
      <p class="found-line" role="status" aria-busy={isLoading}>
        {grouped(count)} found {strategies[place.strategy].found}
      </p>
      <VirtualList {...rowsOf({ query, openId, found })} items={left.slice(0, count)} />
      <div class="load-more">
        {rest > 0 && (
          <button type="button" onClick={() => void (wholeOf.value = key)}>
            Show {grouped(rest)} more, unlike the query
          </button>
        )}
        <button type="button" onClick={() => select({ compare: 'strategies' })}>
          Compare the strategies
        </button>
        {isFull && (
          <button type="button" onClick={() => select({ limit: String(Math.min(mostFound, place.limit * 4)) })}>
            Find more
          </button>
        )}
      </div>
    </>
  );
}

interface RowsProps extends Pick<MemoryListProps, 'query' | 'openId'> {
  readonly found?: FoundMemories;
}

/** How memories stand in their rows, those of the list and those that were found. */
const rowsOf = ({ query, openId, found }: RowsProps) => ({
  label: 'List of memories',
  estimate: 76,
  keyOf: ({ id }: Memory) => id,
  render: (memory: Memory) => (
    <MemoryRow
      memory={memory}
      href={toHash({ view: 'memory', id: memory.id, query })}
      isOpen={memory.id === openId}
      {...(found && { sought: found.sought, isFound: true, found })}
    />
  ),
});
