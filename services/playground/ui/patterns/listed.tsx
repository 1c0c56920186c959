import type { ComponentChildren, RefObject } from 'preact';
import type { LiveList } from '../../session/live-list.ts';
import type { PagedList } from '../../session/pages.ts';
import { LoadMore } from '../load-more.tsx';
import { NewItems } from '../new-items.tsx';
import { Failure } from './failure.tsx';
import { Skeleton } from './skeleton.tsx';
import { VirtualList, type ListActions } from './virtual-list.tsx';

interface ListedProps<T, Entry> {
  readonly list: PagedList<T> & Partial<Pick<LiveList<T>, 'waiting' | 'showNew'>>;
  /** Those of its items that are shown, where some are not. */
  readonly items?: readonly T[];
  /** What stands in its rows: its items, and headings between them. */
  readonly entries: readonly Entry[];
  readonly keyOf: (entry: Entry) => string;
  readonly render: (entry: Entry) => ComponentChildren;
  readonly label: string;
  /** What the list holds one of: `thread`; and many, where an `s` does not do. */
  readonly thing: string;
  readonly things?: string;
  /** The height of a row, in pixels. */
  readonly estimate: number;
  /** Whether the bar of the list says how many there are: its end then says it no more. */
  readonly isCounted?: boolean;
  /** Stands there where there is nothing. */
  readonly none: ComponentChildren;
  readonly actions?: RefObject<ListActions>;
}

/** The rows of a list of the service, from its skeleton to its last page: what failed, what is new, and what there is more of. */
export function Listed<T, Entry>(props: ListedProps<T, Entry>) {
  const { list, entries, keyOf, render, label, thing, things, estimate, none, actions, isCounted } = props;
  const pages = { ...list.state.value, ...(props.items && { items: props.items }) };
  if (pages.items.length === 0 && pages.error !== undefined) return <Failure error={pages.error} retry={list.again} />;
  if (pages.items.length === 0 && pages.isLoading) return <Skeleton rows={8} />;
  if (pages.items.length === 0 && pages.cursor === undefined) return <>{none}</>;
  return (
    <>
      {list.waiting && list.showNew && <NewItems count={list.waiting.value} onShow={list.showNew} />}
      <VirtualList
        {...{ label, estimate, keyOf, render, ...(actions && { actions }) }}
        items={entries}
        onNearEnd={list.more}
      />
      {(!isCounted || pages.cursor !== undefined || pages.error !== undefined) && (
        <LoadMore {...{ pages, thing, ...(things !== undefined && { things }) }} more={list.more} again={list.again} />
      )}
    </>
  );
}
