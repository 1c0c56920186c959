import { toHash } from '../../session/route.ts';
import { Icon } from '../../ui/icon.tsx';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { AgentOfChat } from './agent-picker.tsx';
import type { Chat } from './chat.ts';
import { ForkedFrom } from './forked-from.tsx';
import type { Finding } from './found-messages.ts';

interface ChatHeadProps {
  readonly chat: Chat;
  readonly finding: Finding;
}

/** What the chat is called, whose it is, and the ways from it. */
export function ChatHead({ chat, finding }: ChatHeadProps) {
  const { value: id } = chat.threadId;
  return (
    <div class="chat-head">
      <a
        class="button button-quiet button-sign back"
        href={toHash({ view: 'chat', query: { show: 'list' } })}
        aria-label="All chats"
      >
        <Icon name="back" />
      </a>
      <div class="chat-name">
        <h1 dir="auto">{chat.title.value}</h1>
        <p class="chat-facts">
          <AgentOfChat chat={chat} />
          {id !== undefined && (
            <>
              <a href={toHash({ view: 'threads', id })}>State</a>
              <CopyId id={id} what="the id of the thread" />
              <ForkedFrom key={id} id={id} />
            </>
          )}
        </p>
      </div>
      {id !== undefined && (
        <button
          type="button"
          class="button-quiet button-sign"
          aria-label="Search in this chat"
          title="Search in this chat"
          aria-expanded={finding.isOpen.value}
          onClick={finding.isOpen.value ? finding.close : finding.open}
        >
          <Icon name="search" />
        </button>
      )}
    </div>
  );
}
