import type { Thread } from '@agent-workflow/client';
import { useEffect, useRef } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { usePages, type PagedList } from '../../session/pages.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { grouped } from '../../ui/format.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { toast } from '../../ui/toasts.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { ThreadPane } from './thread-pane.tsx';

const pageSize = 200;

/** The threads of the reader, beside the one that is open. */
export function ThreadsView() {
  const { id, query } = route.value;
  const search = query['search'] ?? '';
  const threads = usePages(
    async (cursor, signal) => {
      const page = await client.threads.list(
        { limit: pageSize, ...(search && { search }), ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      return { items: page.threads, cursor: page.cursor };
    },
    [search],
  );
  const onDeleted = (deleted: string): void => {
    threads.edit((listed) => listed.filter((thread) => thread.thread_id !== deleted));
    toast({ text: `The thread ${deleted} is deleted.` });
    go({ view: 'threads', query: { ...(search && { search }) } });
  };
  return (
    <Panes
      hasDetail={id !== undefined}
      list={<ThreadList threads={threads} search={search} openId={id} />}
      detail={
        <RawOnFault key={id}>
          {id === undefined ? <NoThread /> : <ThreadPane id={id} search={search} onDeleted={onDeleted} />}
        </RawOnFault>
      }
    />
  );
}

function NoThread() {
  useTitle('Threads');
  return <Blank title="No thread is open" text="Choose one to see its state, and what changed it at each step." />;
}

interface ThreadListProps {
  readonly threads: PagedList<Thread>;
  readonly search: string;
  readonly openId: string | undefined;
}

/** The box to search in, and the threads that hold the text in their name, id or metadata. */
function ThreadList({ threads, search, openId }: ThreadListProps) {
  const { items, cursor, isLoading, error } = threads.state.value;
  const showsAgent = useSeveralAgents().length > 0;
  const isEmpty = items.length === 0 && !isLoading && error === undefined;
  return (
    <ListPane
      title="Threads"
      count={items.length > 0 && `${grouped(items.length)}${cursor === undefined ? '' : '+'}`}
      filters={<SearchBox search={search} />}
    >
      {items.length === 0 && isLoading && <Skeleton rows={8} />}
      {isEmpty && (search === '' ? <NoThreads /> : <NothingFound />)}
      {items.length > 0 && (
        <VirtualList
          label="List of threads"
          items={items}
          estimate={52}
          isEven
          keyOf={(thread) => thread.thread_id}
          render={(thread) => <ThreadRow {...{ thread, search, showsAgent }} isOpen={thread.thread_id === openId} />}
        />
      )}
      {error !== undefined && items.length === 0 ? (
        <Failure error={error} retry={threads.again} />
      ) : (
        <LoadMore pages={threads.state.value} thing="thread" more={threads.more} again={threads.again} />
      )}
    </ListPane>
  );
}

const NoThreads = () => (
  <Blank
    title="No thread yet"
    text="A thread holds the messages and the state of one conversation. Each first message of a chat makes one."
    action={
      <a class="button button-first" href={toHash({ view: 'chat' })}>
        Begin a chat
      </a>
    }
    docs="/docs"
  />
);

const NothingFound = () => (
  <Blank
    title="No thread holds this text."
    action={
      <a class="button" href={toHash({ view: 'threads' })}>
        Show all threads
      </a>
    }
  />
);

interface ThreadRowProps {
  readonly thread: Thread;
  readonly search: string;
  /** Whether threads are of several agents. */
  readonly showsAgent: boolean;
  readonly isOpen: boolean;
}

function ThreadRow({ thread, search, showsAgent, isOpen }: ThreadRowProps) {
  const { thread_id: id, thread_name: name } = thread;
  return (
    <Row
      href={toHash({ view: 'threads', id, query: { ...(search && { search }) } })}
      title={name ?? id}
      facts={[showsAgent && thread.agent, name !== null && id].filter((fact) => typeof fact === 'string')}
      time={<RelativeTime at={thread.updated_at} />}
      isSelected={isOpen}
    />
  );
}

/** How long a reader who types is waited for. */
const typingMs = 250;

function SearchBox({ search }: { readonly search: string }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  // The address changes by links, too; a reader who types is not interrupted.
  useEffect(() => {
    if (box.current && document.activeElement !== box.current) box.current.value = search;
  }, [search]);
  const find = (text: string): void => {
    clearTimeout(timer.current);
    const { id } = route.peek();
    go(
      { view: 'threads', ...(id !== undefined && { id }), query: { ...(text && { search: text }) } },
      { replace: true },
    );
  };
  const onInput = (event: Event): void => {
    const { value } = event.currentTarget as HTMLInputElement;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => find(value.trim()), typingMs);
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    find(box.current?.value.trim() ?? '');
  };
  return (
    <form role="search" aria-label="Threads" onSubmit={onSubmit}>
      <input
        ref={box}
        type="search"
        aria-label="Search"
        defaultValue={search}
        onInput={onInput}
        placeholder="Name, id or metadata"
      />
    </form>
  );
}
