import { useEffect, useState } from 'preact/hooks';
import { useSeveralAgents } from '../../session/agents.ts';
import { tickedNow } from '../../session/minute.ts';
import { toHash } from '../../session/route.ts';
import { Icon } from '../../ui/icon.tsx';
import { Blank } from '../../ui/patterns/blank.tsx';
import { Failure } from '../../ui/patterns/failure.tsx';
import { ListPane } from '../../ui/patterns/list-pane.tsx';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import type { Chat } from './chat.ts';
import { chatTitle, groupsOf, whyListed, type ListedThread } from './conversation-list.ts';
import { moreConversations, refreshConversations, useConversations } from './conversations.ts';

/** More characters of a title are not shown: it is one line. */
const maxTitle = 120;

/** The chats of the reader, beside the one that is open. */
export function ConversationsPane({ chat }: { readonly chat: Chat }) {
  const [search, setSearch] = useState('');
  const list = useConversations(search);
  const { threads, cursor, error, isRead } = list.value;
  const showsAgent = useSeveralAgents().length > 0;
  const followed = chat.runs.followed.value;
  // The list says which chats run, and what has become of them.
  useEffect(refreshConversations, [chat, followed]);
  return (
    <ListPane
      title="Chats"
      actions={
        <a
          class="button button-quiet button-sign"
          href={toHash({ view: 'chat' })}
          aria-label="New chat"
          title="New chat"
        >
          <Icon name="edit" />
        </a>
      }
      filters={
        <SearchBox label="Chats" name="Search chats" placeholder="Search chats" value={search} onSearch={setSearch} />
      }
    >
      {error !== undefined && <Failure error={error} retry={refreshConversations} />}
      {!isRead && <Skeleton rows={6} />}
      {isRead && threads.length === 0 && error === undefined && <NoChats isSearched={search !== ''} />}
      <nav aria-label="Chats" class="conversations">
        {groupsOf(threads, tickedNow.value).map(({ title, threads: held }) => (
          <section key={title} aria-label={title}>
            <p class="group" aria-hidden="true">
              {title}
            </p>
            <ul>
              {held.map((thread) => (
                <li key={thread.thread_id}>
                  <ConversationRow
                    thread={thread}
                    isOpen={thread.thread_id === chat.threadId.value}
                    agent={showsAgent ? thread.agent : undefined}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      {cursor !== undefined && (
        <button type="button" class="button-quiet more" onClick={() => void moreConversations()}>
          Older chats
        </button>
      )}
    </ListPane>
  );
}

interface ConversationRowProps {
  readonly thread: ListedThread;
  readonly isOpen: boolean;
  readonly agent: string | null | undefined;
}

/** A chat that is idle is the usual one: it has no mark. */
const ConversationRow = ({ thread, isOpen, agent }: ConversationRowProps) => {
  const why = whyListed(thread);
  return (
    <Row
      href={toHash({ view: 'chat', id: thread.thread_id })}
      status={thread.status === 'idle' ? undefined : thread.status}
      title={chatTitle(thread).slice(0, maxTitle)}
      why={why}
      facts={agent && why === undefined ? [agent] : []}
      time={<RelativeTime at={thread.updated_at} />}
      isSelected={isOpen}
    />
  );
};

const NoChats = ({ isSearched }: { readonly isSearched: boolean }) =>
  isSearched ? (
    <Blank title="No chat found" text="No chat holds this text in its name, its id or its metadata." />
  ) : (
    <Blank title="No chats yet" text="The first message begins one. It stays here, with all that the agent did." />
  );
