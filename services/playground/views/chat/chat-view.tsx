import type { VNode, RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { TypedDraft } from '../../session/drafts.ts';
import { go, route, toHash } from '../../session/route.ts';
import { token } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useTitle } from '../../ui/title.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { RawOnFault } from '../../ui/raw-on-fault.tsx';
import { AgentOfChat, choiceOf } from './agent-picker.tsx';
import { threadBegunHere, type Chat } from './chat.ts';
import { Composer } from './composer.tsx';
import type { Entry } from './conversation.ts';
import { EditDialog, type Forking } from './forking.tsx';
import { isAbsent } from './history.ts';
import { Message, type MessageActions } from './message.tsx';
import { takeOptions } from './options.tsx';
import { LocalCalls, OpenCalls, useResults } from './open-calls.tsx';
import { keysOf, leaveChat, openChat, type Opened } from './opened.ts';
import { Questions } from './questions.tsx';
import { RunBar, runStatusId } from './run-bar.tsx';
import { useUnsent } from './unsent.ts';

/** The chat: the thread that the address names, or the place where a new one begins. */
export function ChatView() {
  const { id, query } = route.value;
  const held = useRef<Opened>();
  if (held.current && (held.current.chat.threadId.peek() !== id || held.current.token !== token.value)) {
    leaveChat(held.current);
    held.current = undefined;
  }
  held.current ??= openChat(id, query['run']);
  useEffect(() => () => held.current && leaveChat(held.current), []);
  const begun = id === undefined ? threadBegunHere() : undefined;
  useEffect(() => {
    if (begun !== undefined) go({ view: 'chat', id: begun }, { replace: true });
  }, [begun]);
  return (
    <RawOnFault key={held.current.chat}>
      <Thread {...held.current} />
    </RawOnFault>
  );
}

function Thread({ chat, forking, writing, answers, results }: Opened) {
  const drawn = chat.drawn.value;
  const { conversation, threadId, followed } = chat;
  useReturns(chat);
  useTitle(chat.name.value);
  const unsent = useUnsent(chat, answers);
  useResults(chat, results);
  const foot = useFocusRescue<HTMLDivElement>(homeOf);
  const { run } = conversation;
  const keys = keysOf(threadId.value);
  const waiting = run?.status === 'interrupted' && followed.value === undefined ? run : undefined;
  // What does not change with each frame is not drawn with each.
  const composer = useMemo(
    () => (
      <>
        <LocalCalls chat={chat} />
        <Composer {...{ chat, unsent, writing }} />
      </>
    ),
    [chat],
  );
  return (
    <div class="chat">
      <div class="chat-head">
        <h1>{chat.name.value ?? (threadId.value === undefined ? 'New chat' : 'Chat')}</h1>
        {threadId.value !== undefined && (
          <>
            <a class="thread-link" href={toHash({ view: 'threads', id: threadId.value })}>
              Thread {threadId.value}
            </a>
            <a href={toHash({ view: 'chat' })}>New chat</a>
          </>
        )}
        <AgentOfChat chat={chat} />
      </div>
      <Messages {...{ chat, forking, drawn }} />
      <div class="chat-foot" ref={foot}>
        {forking.error.value !== undefined && !forking.edited.value && <ErrorNote error={forking.error.value} />}
        <RunBar {...{ chat, drawn }} />
        {waiting?.interrupts && waiting.interrupts.length > 0 && <Questions {...{ chat, answers }} run={waiting} />}
        {waiting?.calls && waiting.calls.length > 0 && <OpenCalls {...{ chat, results }} run={waiting} />}
        <TypedDraft name={keys.answers} typed={answers} />
        <TypedDraft name={keys.results} typed={results} />
        {composer}
      </div>
      {forking.edited.value && <EditDialog forking={forking} options={() => takeOptions(choiceOf(chat).name)} />}
    </div>
  );
}

/** The keyboard goes to the files when one of them goes, and to the status of the run when a button or a form does. */
const homeOf = (element: Element): HTMLElement | null =>
  element.closest('.attachments')?.querySelector('input') ?? document.getElementById(runStatusId);

interface MessagesProps {
  readonly chat: Chat;
  readonly forking: Forking;
  readonly drawn: number;
}

function Messages({ chat, forking, drawn }: MessagesProps) {
  const { conversation, history, threadId } = chat;
  const { hasOlder, isLoading, error } = history;
  const drawings = useRef(new WeakMap<Entry, Drawing>());
  const actions = useRef<MessageActions>({
    ...forking,
    // The options of the run cannot be mended while the dialog is open.
    edit: (entry) => {
      if (takeOptions(choiceOf(chat).name)) forking.edit(entry);
    },
    toolOf: (id) => conversation.calls.get(id),
  }).current;
  const draw = (entry: Entry): VNode => drawingOf(entry, actions, drawings.current);
  const loadOlder = (): void => void history.loadOlder(threadId.peek() ?? '');
  const isRefused = error.value !== undefined && !isAbsent(error.value);
  return (
    <div class="messages">
      {hasOlder.value && (
        <p class="older">
          <button type="button" class="quiet" disabled={isLoading.value} onClick={loadOlder}>
            {isLoading.value ? 'Loading …' : 'Load older messages'}
          </button>
        </p>
      )}
      {isRefused && <ErrorNote error={error.value} again={() => chat.reopen()} />}
      {conversation.entries.length === 0 ? (
        <p class="empty hint">{emptyText(chat)}</p>
      ) : (
        <VirtualList
          label="Messages"
          items={conversation.entries}
          keyOf={keyOf}
          render={draw}
          estimate={96}
          version={drawn}
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
  const node = (
    <RawOnFault raw={entry.blocks}>
      <Message {...{ entry, revision, actions }} />
    </RawOnFault>
  );
  drawings.set(entry, { revision, node });
  return node;
}

function emptyText({ threadId, missing, history: { isLoading, error } }: Chat): string {
  if (isLoading.value) return 'Reading the messages …';
  if (missing.value !== undefined) return 'There is no thread of this id.';
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
      // A service that is unavailable now is asked when the reader comes back again.
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

/**
 * Moves the focus when the focused element is removed: it would go to the top of the page otherwise.
 * @param homeOf the element that gets the focus when this one is removed; called while this one is still there
 * @returns the ref of the element that contains those that are removed
 */
function useFocusRescue<T extends HTMLElement>(homeOf: (element: Element) => HTMLElement | null): RefObject<T> {
  const root = useRef<T>(null);
  useEffect(() => {
    const { current } = root;
    if (!current) return undefined;
    let held: { readonly element: Element; readonly home: HTMLElement | null } | undefined;
    const note = ({ target }: FocusEvent): void => {
      held = target instanceof Element ? { element: target, home: homeOf(target) } : undefined;
    };
    const leave = ({ relatedTarget }: FocusEvent): void => {
      if (relatedTarget !== null) held = undefined;
    };
    const observer = new MutationObserver(() => {
      if (held === undefined || held.element.isConnected || document.activeElement !== document.body) return;
      held.home?.focus();
    });
    current.addEventListener('focusin', note);
    current.addEventListener('focusout', leave);
    observer.observe(current, { childList: true, subtree: true });
    return () => {
      current.removeEventListener('focusin', note);
      current.removeEventListener('focusout', leave);
      observer.disconnect();
    };
  }, []);
  return root;
}
