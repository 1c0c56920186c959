import { useSignal } from '@preact/signals';
import { usePages, type PagedList } from '../../session/pages.ts';
import { go, route, toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { ThreadPane } from './thread-pane.tsx';
import type { Thread } from '@agent-workflow/client';
import { useEffect, useRef } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { LoadMore } from '../../ui/load-more.tsx';
import { Time } from '../../ui/time.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';

const pageSize = 200;

/** The threads of the reader, beside the one that is open. */
export function ThreadsView() {
  const { id, query } = route.value;
  const search = query['search'] ?? '';
  const notice = useSignal('');
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
    notice.value = `The thread ${deleted} is deleted.`;
    go({ view: 'threads', query: { ...(search && { search }) } });
  };
  return (
    <div class={id === undefined ? 'browse' : 'browse browse-open'}>
      <ThreadList threads={threads} search={search} openId={id} notice={notice.value} />
      <RawOnFault key={id}>
        {id === undefined ? <NoThread /> : <ThreadPane id={id} search={search} onDeleted={onDeleted} />}
      </RawOnFault>
    </div>
  );
}

function NoThread() {
  useTitle('Threads');
  return <p class="hint browse-none">Choose a thread to see its state and its versions.</p>;
}

interface ThreadListProps {
  readonly threads: PagedList<Thread>;
  readonly search: string;
  readonly openId: string | undefined;
  /** What happened last. */
  readonly notice: string;
}

/** The box to search in, and the threads that hold the text in their name, id or metadata. */
function ThreadList({ threads, search, openId, notice }: ThreadListProps) {
  const { items, isLoading, error } = threads.state.value;
  const showsAgent = useSeveralAgents().length > 0;
  const isEmpty = items.length === 0 && !isLoading && error === undefined;
  return (
    <div class="browse-list">
      <h1>Threads</h1>
      <SearchBox search={search} />
      <p class="notice" role="status">
        {notice}
      </p>
      {isEmpty ? (
        <p class="hint">
          {search === ''
            ? 'There is no thread yet. One is made by each first message of a '
            : 'No thread holds this text. '}
          {search === '' && <a href={toHash({ view: 'chat' })}>chat</a>}
        </p>
      ) : (
        <VirtualList
          label="List of threads"
          items={items}
          estimate={57}
          isEven
          keyOf={(thread) => thread.thread_id}
          render={(thread) => <ThreadLink {...{ thread, search, showsAgent }} isOpen={thread.thread_id === openId} />}
        />
      )}
      <LoadMore pages={threads.state.value} thing="thread" more={threads.more} again={threads.again} />
    </div>
  );
}

interface ThreadLinkProps {
  readonly thread: Thread;
  readonly search: string;
  /** Whether threads are of several agents. */
  readonly showsAgent: boolean;
  readonly isOpen: boolean;
}

function ThreadLink({ thread, search, showsAgent, isOpen }: ThreadLinkProps) {
  const { thread_id: id, thread_name: name } = thread;
  return (
    <a
      class="entry"
      href={toHash({ view: 'threads', id, query: { ...(search && { search }) } })}
      aria-current={isOpen ? 'true' : undefined}
    >
      <span class="entry-name">{name ?? id}</span>
      <span class="hint">
        <Time at={thread.updated_at} />
        {showsAgent && thread.agent !== null && ` · ${thread.agent}`}
        {name !== null && <span class="entry-id"> {id}</span>}
      </span>
    </a>
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
      <label>
        Search
        <input ref={box} type="search" defaultValue={search} onInput={onInput} placeholder="Name, id or metadata" />
      </label>
    </form>
  );
}
