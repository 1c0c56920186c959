import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { me } from '../../session/me.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useMarks } from '../../ui/marks.ts';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { VirtualList, type ListActions } from '../../ui/patterns/virtual-list.tsx';
import { choiceOf } from './agent-picker.tsx';
import type { Chat } from './chat.ts';
import { isShown, type Entry } from './conversation.ts';
import type { Forking } from './forking.ts';
import type { Finding } from './found-messages.ts';
import { Hello } from './hello.tsx';
import { isAbsent } from './history.ts';
import { Message, type MessageActions, type MessagePlace } from './message.tsx';
import type { Writing } from './opened.ts';
import { takeOptions } from './options.tsx';

interface MessagesProps {
  readonly chat: Chat;
  readonly forking: Forking;
  readonly writing: Writing;
  readonly finding: Finding;
  readonly drawn: number;
}

/** The messages of the thread; where it has none, what may be asked. */
export function Messages({ chat, forking, writing, finding, drawn }: MessagesProps) {
  const { conversation, history, threadId } = chat;
  const { hasOlder, isLoading, error } = history;
  const root = useRef<HTMLDivElement>(null);
  const list = useRef<ListActions>(null);
  const drawings = useRef(new WeakMap<Entry, Drawing>());
  const actions = useRef<MessageActions>({
    ...forking,
    costs: chat.callCosts,
    isOfOther: chat.source.share !== undefined,
    // The options of the run cannot be mended while the dialog is open.
    edit: (entry) => {
      if (takeOptions(choiceOf(chat).name)) forking.edit(entry);
    },
    goOn: () => {
      const request = takeOptions(choiceOf(chat).name);
      if (request)
        chat.start({ ...request, messages: [{ role: 'user', content: 'Go on.' }] }).catch((thrown: unknown) => {
          writing.error.value = thrown;
        });
    },
  }).current;
  const shown = conversation.entries.filter((entry) => isShown(conversation, entry));
  const { name: agent } = choiceOf(chat);
  const draw = (entry: Entry, index: number): VNode => {
    const place = {
      isFirst: !isOfSame(shown[index - 1], entry),
      isLast: index === shown.length - 1,
    };
    return drawingOf({ entry, place, agent, chat, actions }, drawings.current);
  };
  const [leftAt, leaveAt] = useState<number>();
  const loadOlder = (): void => void history.loadOlder(threadId.peek() ?? '');
  const isRefused = error.value !== undefined && !isAbsent(error.value);
  useFoundMessage({ chat, finding, list, shown });
  const current = finding.ids.value[finding.at.value];
  useMarks(root, {
    text: finding.isOpen.value ? finding.text.value : '',
    current: current === undefined ? undefined : `[data-key="${CSS.escape(current)}"]`,
  });
  return (
    <div class="messages" ref={root}>
      {hasOlder.value && (
        <p class={isLoading.value || shown.length < fewMessages ? 'older is-seen' : 'older'}>
          <button type="button" class="button-quiet" disabled={isLoading.value} onClick={loadOlder}>
            {isLoading.value ? 'Loading …' : 'Load older messages'}
          </button>
        </p>
      )}
      {isRefused && <ErrorNote error={error.value} again={() => chat.reopen()} />}
      {shown.length === 0 ? (
        <NoMessages {...{ chat, writing }} />
      ) : (
        <VirtualList
          label="Messages"
          items={shown}
          keyOf={keyOf}
          render={draw}
          estimate={120}
          version={drawn}
          followsEnd
          onNearStart={loadOlder}
          onEnd={(isAtEnd) => leaveAt(isAtEnd ? undefined : shown.length)}
          actions={list}
        />
      )}
      {leftAt !== undefined && shown.length > 0 && (
        <button type="button" class="to-end" onClick={() => list.current?.showEnd()}>
          <Icon name="down" />
          {shown.length > leftAt ? `${String(shown.length - leftAt)} new` : 'To the newest'}
        </button>
      )}
    </div>
  );
}

/** Whether two messages are of the same speaker. */
const isOfSame = (before: Entry | undefined, entry: Entry): boolean =>
  before?.role === entry.role && before.sender === entry.sender;

/** Who has sent a message of a user, where that is not the reader. */
function senderOf({ role, sender }: Entry, { share }: Chat['source']): string | undefined {
  if (role !== 'user') return undefined;
  const from = sender ?? share?.user_id;
  return from === me.value?.user_id ? undefined : from;
}

/** So few may not fill the window: nothing is scrolled then that would load older ones. */
const fewMessages = 30;

const keyOf = ({ id }: Entry): string => id;

interface FoundProps {
  readonly chat: Chat;
  readonly finding: Finding;
  readonly list: { readonly current: ListActions | null };
  readonly shown: readonly Entry[];
}

/** For how long a message that was found is brought into sight again when older ones come before it, in milliseconds. */
const settlesMs = 2000;

/** Shows the message that was found; one that is older than those on the page is read first. */
function useFoundMessage({ chat: { history, threadId }, finding, list, shown }: FoundProps): void {
  const id = finding.isOpen.value ? finding.ids.value[finding.at.value] : undefined;
  const index = id === undefined ? -1 : shown.findIndex((entry) => entry.id === id);
  const last = useRef<{ readonly id: string | undefined; readonly at: number }>();
  useEffect(() => {
    const isNew = last.current?.id !== id;
    if (isNew) last.current = { id, at: performance.now() };
    if (id === undefined) return;
    if (index === -1) {
      last.current = undefined;
      void history.loadUntil(threadId.peek() ?? '', id);
    } else if (isNew || performance.now() - (last.current?.at ?? 0) < settlesMs) list.current?.show(index);
  }, [id, index]);
}

/** The element of an entry as it was drawn last. */
interface Drawing extends MessagePlace {
  readonly revision: number;
  readonly agent: string | undefined;
  readonly node: VNode;
}

interface Drawn {
  readonly entry: Entry;
  readonly place: MessagePlace;
  readonly agent: string | undefined;
  readonly chat: Chat;
  readonly actions: MessageActions;
}

/** The same element for an entry that has not changed: nothing of it is compared again. */
function drawingOf({ entry, place, agent, chat, actions }: Drawn, drawings: WeakMap<Entry, Drawing>): VNode {
  const { revision } = entry;
  const known = drawings.get(entry);
  const isSame =
    known?.revision === revision &&
    known.agent === agent &&
    known.isFirst === place.isFirst &&
    known.isLast === place.isLast;
  if (known && isSame) return known.node;
  const node = (
    <RawOnFault raw={entry.blocks}>
      <Message
        {...{ entry, revision, agent, actions, ...place }}
        from={senderOf(entry, chat.source)}
        conversation={chat.conversation}
      />
    </RawOnFault>
  );
  drawings.set(entry, { revision, agent, ...place, node });
  return node;
}

interface NoMessagesProps {
  readonly chat: Chat;
  readonly writing: Writing;
}

function NoMessages({ chat, writing }: NoMessagesProps) {
  const { threadId, thread, history } = chat;
  if (threadId.value === undefined)
    return (
      <Hello
        choice={choiceOf(chat)}
        onStart={(text) => {
          writing.text.value = text;
          document.querySelector<HTMLElement>('.message-box textarea')?.focus();
        }}
      />
    );
  return <p class="empty hint">{emptyText(thread.missing.value, history)}</p>;
}

function emptyText(missing: string | undefined, { isLoading, error }: Chat['history']): string {
  if (isLoading.value) return 'Reading the messages …';
  if (missing !== undefined) return 'There is no thread of this id.';
  return error.value === undefined ? 'This thread has no messages.' : '';
}
