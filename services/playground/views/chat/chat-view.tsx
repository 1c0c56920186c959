import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { route, toHash } from '../../session/route.ts';
import { token } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { createChat, type Chat } from './chat.ts';
import { Composer } from './composer.tsx';
import type { Entry } from './conversation.ts';
import { createForking, EditDialog, type Forking } from './forking.tsx';
import { isAbsent } from './history.ts';
import { Message, type MessageActions } from './message.tsx';
import { takeOptions } from './options.tsx';
import { LocalCalls, OpenCalls, Questions } from './questions.tsx';
import { RunBar } from './run-bar.tsx';

/** A thread that is open, and the token that it was opened with. */
interface Opened {
  readonly chat: Chat;
  readonly forking: Forking;
  readonly token: string;
}

/** The chat: the thread that the address names, or the place where a new one begins. */
export function ChatView() {
  const { id, query } = route.value;
  const held = useRef<Opened>();
  if (held.current?.chat.threadId.peek() !== id || held.current?.token !== token.value) {
    held.current?.chat.dispose();
    held.current = undefined;
  }
  held.current ??= opened(id, query['run']);
  useEffect(() => () => held.current?.chat.dispose(), []);
  return <Thread key={held.current.chat} {...held.current} />;
}

function opened(id: string | undefined, run: string | undefined): Opened {
  const chat = createChat(id, run);
  return { chat, forking: createForking(chat), token: token.peek() };
}

function Thread({ chat, forking }: Opened) {
  const drawn = chat.drawn.value;
  const { conversation, threadId, followed } = chat;
  useReturns(chat);
  const isWaiting = conversation.run?.status === 'interrupted' && followed.value === undefined;
  // What does not change with each frame is not drawn with each.
  const composer = useMemo(
    () => (
      <>
        <LocalCalls chat={chat} />
        <Composer chat={chat} />
      </>
    ),
    [chat],
  );
  const retry = async (): Promise<void> => {
    const last = conversation.entries.findLast(({ role }) => role === 'user');
    const request = takeOptions();
    if (last && request)
      await chat.start({ ...request, messages: [{ role: 'user', message_id: last.id, content: last.blocks }] });
  };
  return (
    <div class="chat">
      <div class="chat-head">
        <h1>{threadId.value === undefined ? 'New chat' : 'Chat'}</h1>
        {threadId.value !== undefined && (
          <>
            <a class="thread-link" href={toHash({ view: 'threads', id: threadId.value })}>
              Thread {threadId.value}
            </a>
            <a href={toHash({ view: 'chat' })}>New chat</a>
          </>
        )}
      </div>
      <Messages {...{ chat, forking, drawn }} />
      <div class="chat-foot">
        {forking.error.value !== undefined && !forking.edited.value && <ErrorNote error={forking.error.value} />}
        <RunBar {...{ chat, drawn }} onRetry={retry} />
        {isWaiting && (conversation.run?.interrupts?.length ?? 0) > 0 && <Questions chat={chat} />}
        {isWaiting && (conversation.run?.calls?.length ?? 0) > 0 && <OpenCalls chat={chat} />}
        {composer}
      </div>
      {forking.edited.value && <EditDialog forking={forking} options={takeOptions} />}
    </div>
  );
}

interface MessagesProps {
  readonly chat: Chat;
  readonly forking: Forking;
  readonly drawn: number;
}

function Messages({ chat, forking }: MessagesProps) {
  const { conversation, history, threadId } = chat;
  const { before, isLoading, error } = history;
  const drawings = useRef(new WeakMap<Entry, Drawing>());
  const actions = useRef<MessageActions>({ ...forking, toolOf: (id) => conversation.calls.get(id) }).current;
  const draw = (entry: Entry): VNode => drawingOf(entry, actions, drawings.current);
  const loadOlder = (): void => void history.loadOlder(threadId.peek() ?? '');
  const isRefused = error.value !== undefined && !isAbsent(error.value);
  return (
    <div class="messages">
      {before.value > 0 && (
        <p class="older">
          <button type="button" class="quiet" disabled={isLoading.value} onClick={loadOlder}>
            {isLoading.value ? 'Loading …' : `Load older messages (${before.value.toLocaleString('en')} before these)`}
          </button>
        </p>
      )}
      {isRefused && <ErrorNote error={error.value} again={chat.reopen} />}
      {conversation.entries.length === 0 ? (
        <p class="empty hint">{emptyText(chat)}</p>
      ) : (
        <VirtualList
          label="Messages"
          items={conversation.entries}
          keyOf={keyOf}
          render={draw}
          estimate={96}
          followsEnd
          onNearStart={loadOlder}
        />
      )}
    </div>
  );
}

const keyOf = ({ id }: Entry): string => id;

/** The element of an entry as it was drawn last. */
interface Drawing {
  readonly revision: number;
  readonly node: VNode;
}

/** The same element for an entry that has not changed: nothing of it is compared again. */
function drawingOf(entry: Entry, actions: MessageActions, drawings: WeakMap<Entry, Drawing>): VNode {
  const { revision } = entry;
  const known = drawings.get(entry);
  if (known?.revision === revision) return known.node;
  const node = <Message {...{ entry, revision, actions }} />;
  drawings.set(entry, { revision, node });
  return node;
}

function emptyText({ threadId, isAbsent: isThreadAbsent, history: { isLoading, error } }: Chat): string {
  if (isLoading.value) return 'Reading the messages …';
  if (isThreadAbsent.value) return 'There is no thread of this id. The first message makes it.';
  if (error.value !== undefined) return '';
  return threadId.value === undefined ? 'The first message makes a thread.' : 'This thread has no messages.';
}

/** How long after the reader has come back a thread is not read again, in milliseconds. */
const returnMs = 2000;

/** Reads the thread again when the reader comes back to the tab: other tabs may have gone on with it. */
function useReturns(chat: Chat): void {
  useEffect(() => {
    let caughtUpAt = performance.now();
    const catchUp = (): void => {
      if (document.visibilityState !== 'visible' || performance.now() - caughtUpAt < returnMs) return;
      caughtUpAt = performance.now();
      // A service that is away now is asked when the reader comes back again.
      chat.catchUp().catch(() => undefined);
    };
    addEventListener('focus', catchUp);
    document.addEventListener('visibilitychange', catchUp);
    return () => {
      removeEventListener('focus', catchUp);
      document.removeEventListener('visibilitychange', catchUp);
    };
  }, [chat]);
}
