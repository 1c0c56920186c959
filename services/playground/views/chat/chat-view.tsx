import { useEffect, useMemo, useRef } from 'preact/hooks';
import { TypedDraft } from '../../session/drafts.ts';
import { go, route } from '../../session/route.ts';
import { token } from '../../session/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { useFocusRescue } from '../../ui/focus-rescue.ts';
import { Panes } from '../../ui/patterns/panes.tsx';
import { RawOnFault } from '../../ui/patterns/raw-on-fault.tsx';
import { useTitle } from '../../ui/title.ts';
import { choiceOf } from './agent-picker.tsx';
import { threadBegunHere } from './begun-threads.ts';
import { ChatHead } from './chat-head.tsx';
import { FileSource } from './chat-source.ts';
import { Composer } from './composer.tsx';
import { ConversationsPane } from './conversations-pane.tsx';
import { EditDialog } from './edit-dialog.tsx';
import { FindBar } from './find-bar.tsx';
import { createFinding } from './found-messages.ts';
import { Messages } from './messages.tsx';
import { LocalCallList, OpenCalls, useResults } from './open-calls.tsx';
import { keysOf, leaveChat, openChat, type Opened } from './opened.ts';
import { takeOptions } from './options.tsx';
import { Questions } from './questions.tsx';
import { useReturns } from './returns.ts';
import { RunLine, runStatusId } from './run-line.tsx';
import { useUnsent } from './unsent.ts';

/** The chat: the thread that the address names, or the place where a new one begins, beside the list of all. */
export function ChatView() {
  const { id, query } = route.value;
  // Who signs in gets the chat opened anew, whether it was there before or not.
  const { value: session } = token;
  const held = useRef<Opened>();
  if (held.current && (held.current.chat.threadId.peek() !== id || held.current.token !== session)) {
    leaveChat(held.current);
    held.current = undefined;
  }
  held.current ??= openChat(id, query['run']);
  useEffect(() => () => held.current && leaveChat(held.current), []);
  const begun = id === undefined ? threadBegunHere() : undefined;
  useEffect(() => {
    if (begun !== undefined) go({ view: 'chat', id: begun }, { replace: true });
  }, [begun]);
  const { chat } = held.current;
  return (
    <Panes
      // A phone shows the list in the place of the chat when it is asked for.
      hasDetail={query['show'] !== 'list'}
      list={<ConversationsPane chat={chat} />}
      detail={
        <RawOnFault key={chat}>
          <Thread {...held.current} />
        </RawOnFault>
      }
    />
  );
}

/** A thread that is open. */
export function Thread({ chat, forking, writing, answers, results }: Opened) {
  const drawn = chat.drawn.value;
  const {
    conversation,
    threadId,
    runs: { followed },
  } = chat;
  useReturns(chat);
  useTitle(chat.thread.name.value);
  const finding = useMemo(() => createFinding(chat), [chat]);
  const unsent = useUnsent(chat, answers);
  useResults(chat, results);
  const foot = useFocusRescue<HTMLDivElement>(homeOf);
  const { run } = conversation;
  const keys = keysOf(threadId.value);
  const { share } = chat.source;
  const isWaiting = run?.status === 'interrupted' && followed.value === undefined;
  const waiting = isWaiting && (share?.rights.includes('answer') ?? true) ? run : undefined;
  // Who may not answer would drop what is asked.
  const mayWrite = share === undefined || (share.rights.includes('write') && (waiting !== undefined || !isWaiting));
  // What does not change with each frame is not drawn with each.
  const composer = useMemo(
    () => (
      <>
        <LocalCallList chat={chat} />
        {mayWrite && <Composer {...{ chat, unsent, writing }} />}
      </>
    ),
    [chat, mayWrite],
  );
  const head = useMemo(() => <ChatHead {...{ chat, finding }} />, [chat]);
  return (
    <FileSource.Provider value={chat.source.client}>
      <div class={threadId.value === undefined ? 'chat chat-new' : 'chat'}>
        {head}
        {finding.isOpen.value && <FindBar finding={finding} />}
        <Messages {...{ chat, forking, writing, finding, drawn }} />
        <div class="chat-foot" ref={foot}>
          {forking.error.value !== undefined && !forking.edited.value && <ErrorNote error={forking.error.value} />}
          <RunLine {...{ chat, drawn }} />
          {waiting?.interrupts && waiting.interrupts.length > 0 && <Questions {...{ chat, answers }} run={waiting} />}
          {waiting?.calls && waiting.calls.length > 0 && !share && <OpenCalls {...{ chat, results }} run={waiting} />}
          <TypedDraft name={keys.answers} typed={answers} />
          <TypedDraft name={keys.results} typed={results} />
          {composer}
        </div>
        {forking.edited.value && <EditDialog forking={forking} options={() => takeOptions(choiceOf(chat).name)} />}
      </div>
    </FileSource.Provider>
  );
}

/** The keyboard goes to the files when one of them goes, to the box when a button beside it does, and to the status of the run otherwise. */
const homeOf = (element: Element): HTMLElement | null => {
  const composer = element.closest<HTMLElement>('.composer');
  if (element.closest('.attached')) return composer?.querySelector<HTMLElement>('.attach input') ?? null;
  return composer?.querySelector('textarea') ?? document.getElementById(runStatusId);
};
