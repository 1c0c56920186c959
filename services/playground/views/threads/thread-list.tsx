import type { Thread } from '@agent-workflow/client';
import { useMemo, useRef } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { serviceNow } from '../../session/clock.ts';
import type { LiveList } from '../../session/live-list.ts';
import { go, route, toHash } from '../../session/route.ts';
import { createSavedFilters } from '../../session/saved-filters.ts';
import { ChoiceBox } from '../../ui/choice-box.tsx';
import { dayName, groupByDay } from '../../ui/day-groups.ts';
import { grouped } from '../../ui/format.ts';
import { Blank } from '../../ui/patterns/blank.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { Listed } from '../../ui/patterns/listed.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { SavedTabs, SaveFilter } from '../../ui/saved-tabs.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { TimeInGroup } from '../../ui/patterns/time-in-group.tsx';
import { givenThreadFilters, threadRanges, threadStatusChoices, whyOfThread } from './thread-selection.ts';

type Query = Readonly<Record<string, string>>;

const savedThreadFilters = createSavedFilters('threads', localStorage);

/** Lists other threads, beside the one that is open. */
function select(changed: Query): void {
  const { id, query } = route.peek();
  const next = Object.entries({ ...query, ...changed }).filter(([, value]) => value !== '');
  go({ view: 'threads', ...(id !== undefined && { id }), query: Object.fromEntries(next) }, { replace: true });
}

interface ThreadListProps {
  readonly threads: LiveList<Thread>;
  /** The selection of the address. */
  readonly query: Query;
  readonly openId: string | undefined;
}

/** The threads of the reader, those that changed last first, by what the address selects. */
export function ThreadList({ threads, query, openId }: ThreadListProps) {
  const { items, cursor } = threads.state.value;
  const body = useRef<HTMLDivElement>(null);
  return (
    <ListPane
      title="Threads"
      count={items.length > 0 && `${grouped(items.length)}${cursor === undefined ? '' : '+'}`}
      actions={<SaveFilter given={givenThreadFilters} saved={savedThreadFilters} query={query} />}
      filters={<ThreadFilters query={query} />}
    >
      <div class="thread-rows" ref={body}>
        <Rows threads={threads} query={query} openId={openId} />
      </div>
    </ListPane>
  );
}

function ThreadFilters({ query }: { readonly query: Query }) {
  const agents = useSeveralAgents().map(({ name }) => ({ word: name, text: name }));
  return (
    <>
      <SavedTabs
        given={givenThreadFilters}
        saved={savedThreadFilters}
        query={query}
        hrefOf={(each) => toHash({ view: 'threads', query: each })}
      />
      <SearchBox
        label="Threads"
        placeholder="Title, id or metadata"
        value={query['search'] ?? ''}
        onSearch={(search) => select({ search })}
      />
      <ChoiceBox
        label="Time"
        any="Time"
        choices={threadRanges}
        value={query['days'] ?? ''}
        onChoose={(days) => select({ days })}
      />
      <ChoiceBox
        label="Status"
        any="Status"
        choices={threadStatusChoices}
        value={query['status'] ?? ''}
        onChoose={(status) => select({ status })}
      />
      {(agents.length > 0 || query['agent'] !== undefined) && (
        <ChoiceBox
          label="Agent"
          any="Agent"
          choices={agents}
          value={query['agent'] ?? ''}
          onChoose={(agent) => select({ agent })}
        />
      )}
    </>
  );
}

const changedAt = ({ updated_at: updated }: Thread): number => Date.parse(updated ?? '');

function Rows({ threads, query, openId }: ThreadListProps) {
  const { items } = threads.state.value;
  const showsAgent = useSeveralAgents().length > 0;
  const entries = useMemo(() => groupByDay(items, { keyOf: ({ thread_id: id }) => id, timeOf: changedAt }), [items]);
  const now = serviceNow();
  return (
    <Listed
      list={threads}
      entries={entries}
      label="List of threads"
      thing="thread"
      estimate={52}
      keyOf={({ key }) => key}
      none={<NoThreads query={query} />}
      render={(entry) =>
        entry.kind === 'day' ? (
          <h2 class="group">{dayName(entry.at, now)}</h2>
        ) : (
          <ThreadRow {...{ thread: entry.item, query, showsAgent, now }} isOpen={entry.item.thread_id === openId} />
        )
      }
    />
  );
}

function NoThreads({ query }: { readonly query: Query }) {
  if (Object.keys(query).length > 0)
    return (
      <Blank
        title="No thread is as you ask"
        action={
          <a class="button" href={toHash({ view: 'threads' })}>
            Show all threads
          </a>
        }
      />
    );
  return (
    <Blank
      title="No thread yet"
      text="A thread holds the messages and the state of one conversation. Each first message of a chat makes one."
      action={
        <a class="button button-first" href={toHash({ view: 'chat' })}>
          Begin a chat
        </a>
      }
      docs="/docs/threads"
    />
  );
}

interface ThreadRowProps {
  readonly thread: Thread;
  readonly query: Query;
  /** Whether threads are of several agents. */
  readonly showsAgent: boolean;
  readonly isOpen: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

function ThreadRow({ thread, query, showsAgent, isOpen, now }: ThreadRowProps) {
  const { thread_id: id, title, agent } = thread;
  return (
    <Row
      href={toHash({ view: 'threads', id, query })}
      status={thread.status ?? 'idle'}
      title={title ?? id}
      why={whyOfThread(thread)}
      facts={[showsAgent && agent].filter((fact) => typeof fact === 'string')}
      time={<TimeInGroup at={changedAt(thread)} now={now} />}
      isSelected={isOpen}
    />
  );
}
