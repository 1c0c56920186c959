import type { ComponentType } from 'preact';
import { mayShare } from '../../session/me.ts';
import { toHash } from '../../session/route.ts';
import { Deferred } from '../../shell/deferred.tsx';
import { Icon } from '../../ui/icon.tsx';
import { CopyId } from '../../ui/patterns/copy-id.tsx';
import { sharing } from '../../ui/sharing/sharing.ts';
import { SharedBy } from '../../ui/sharing/shared-by.tsx';
import { AgentOfChat } from './agent-picker.tsx';
import type { Chat } from './chat.ts';
import { ForkedFrom } from './forked-from.tsx';
import type { Finding } from './found-messages.ts';

interface ChatHeadProps {
  readonly chat: Chat;
  readonly finding: Finding;
}

const loadShareDialog = async (): Promise<ComponentType> =>
  (await import('../../ui/sharing/share-dialog.tsx')).ShareDialog;

/** What the chat is called, whose it is, and the ways from it. */
export function ChatHead({ chat, finding }: ChatHeadProps) {
  const { value: id } = chat.threadId;
  const { share, view } = chat.source;
  return (
    <div class="chat-head">
      <a
        class="button button-quiet button-sign back"
        href={toHash(share ? { view } : { view, query: { show: 'list' } })}
        aria-label={share ? 'All that is shared with you' : 'All chats'}
      >
        <Icon name="back" />
      </a>
      <div class="chat-name">
        <h1 dir="auto">{chat.title.value}</h1>
        <p class="chat-facts">
          <AgentOfChat chat={chat} />
          {share && <SharedBy share={share} />}
          {id !== undefined && !share && (
            <>
              <a href={toHash({ view: 'threads', id })}>State</a>
              <CopyId id={id} what="the id of the thread" />
              <ForkedFrom key={id} id={id} />
            </>
          )}
        </p>
      </div>
      {id !== undefined && !share && mayShare() && (
        <button
          type="button"
          class="button-quiet button-sign"
          aria-label="Share this chat"
          title="Share this chat"
          onClick={() => {
            sharing.value = id;
          }}
        >
          <Icon name="share" />
        </button>
      )}
      {sharing.value !== undefined && sharing.value === id && <Deferred load={loadShareDialog} />}
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
