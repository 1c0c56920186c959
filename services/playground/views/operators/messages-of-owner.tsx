import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { client } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { Skeleton } from '../../ui/patterns/skeleton.tsx';
import { noCosts } from '../chat/call-costs.ts';
import { emptyConversation, isShown } from '../chat/conversation.ts';
import { createHistory } from '../chat/history.ts';
import { Message, type MessageActions } from '../chat/message.tsx';
import { ownerInWords, ownerOf } from './of-owner.ts';

interface MessagesOfOwnerProps {
  /** Empty: the anonymous owner. */
  readonly userId: string;
  readonly threadId: string;
  /** Each page that is read is a line of the audit with it. */
  readonly reason: string;
}

const nothing = (): void => undefined;

/** They are read and copied, and no more. */
const actions: MessageActions = {
  ...{ fork: nothing, edit: nothing, openRun: nothing, goOn: nothing },
  ...{ costs: noCosts, isOfOther: true, refusals: signal(new Map()) },
};

/** The messages of a thread of somebody as they were when it was opened, the newest page first. */
export function MessagesOfOwner({ userId, threadId, reason }: MessagesOfOwnerProps) {
  const [{ conversation, history, leave, drawn }] = useState(() => openMessages(userId, reason));
  useEffect(() => {
    void history.loadNewest(threadId);
    return leave;
  }, []);
  const { entries } = conversation;
  const { error, isLoading, hasOlder } = history;
  const shown = entries.filter((entry) => isShown(conversation, entry));
  return (
    <section class="messages" aria-label="Messages" data-drawn={drawn.value}>
      <h2>Messages</h2>
      {error.value !== undefined && <ErrorNote error={error.value} again={() => void history.loadNewest(threadId)} />}
      {isLoading.value && shown.length === 0 && <Skeleton rows={4} />}
      {!isLoading.value && error.value === undefined && shown.length === 0 && (
        <p class="hint">This thread has no messages.</p>
      )}
      {hasOlder.value && (
        <p class="older is-seen">
          <button
            type="button"
            class="button-quiet"
            disabled={isLoading.value}
            onClick={() => void history.loadOlder(threadId)}
          >
            Load older messages
          </button>
        </p>
      )}
      {shown.map((entry, index) => (
        <RawOnFault key={entry.id} raw={entry.blocks}>
          <Message
            {...{ entry, conversation, actions }}
            revision={entry.revision}
            agent={undefined}
            from={entry.role === 'user' ? (entry.sender ?? ownerInWords(userId)) : undefined}
            isFirst={shown[index - 1]?.role !== entry.role}
            isLast={index === shown.length - 1}
          />
        </RawOnFault>
      ))}
    </section>
  );
}

function openMessages(userId: string, reason: string) {
  const conversation = emptyConversation();
  const ended = new AbortController();
  const drawn = signal(0);
  const history = createHistory(conversation, {
    readMessages: (id, query, options) =>
      client.admin.listMessages(id, { ...query, ...ownerOf(userId), reason }, options),
    signalOfPage: ended.signal,
    changed: () => {
      drawn.value++;
    },
  });
  return { conversation, history, drawn, leave: () => ended.abort() };
}
