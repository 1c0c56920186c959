import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block } from '@agent-workflow/client';
import type { Signal } from '@preact/signals';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useDraft, writeDraft } from '../../session/drafts.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { reasonToChoose } from './agent-choice.ts';
import { AgentPicker, choiceOf, settledChoiceOf } from './agent-picker.tsx';
import { toAttached, useAttachments } from './attached.ts';
import { blocksOf, textBlocks } from './attached-blocks.ts';
import { AttachButton, AttachedFiles } from './attachments.tsx';
import type { Chat } from './chat.ts';
import { Guard } from './guard.tsx';
import { MessageBox } from './message-box.tsx';
import { MissingThread } from './missing-thread.tsx';
import { noteOptionsSent, Options, takeOptions } from './options.tsx';
import { keysOf, type Writing } from './opened.ts';
import { SendButton, StopButton } from './send-buttons.tsx';
import type { Unsent } from './unsent.ts';

/** The text that stands in the box of a thread, which is kept until it is sent. */
function useText(threadId: string | undefined, handed: Signal<string>, text: Signal<string>): (sent: string) => void {
  const key = keysOf(threadId).text;
  useDraft(key, text.value, () => text.peek());
  const given = handed.value;
  useEffect(() => {
    if (given === '') return;
    const now = text.peek();
    text.value = now.trim() === '' ? given : `${now}\n\n${given}`;
    handed.value = '';
  }, [given, handed, text]);
  /** What was typed after the text while it was sent stays. */
  return (sent) => {
    const now = text.peek();
    if (!now.startsWith(sent)) return;
    text.value = now.slice(sent.length).trimStart();
    // The first message gives the thread its id: the draft of the place without one goes too. So it does when the reader has left.
    writeDraft(key, text.peek());
  };
}

/** Whether the keyboard is where nothing can be done with it: nowhere, or at the button of an empty message. */
const isLeft = (active: Element | null): boolean =>
  active === document.body || active?.matches('.composer [type="submit"]') === true;

/** How a message is sent while the agent waits: as the answer to its question, or past it. */
type Way = 'asks' | 'answer' | 'past';

interface ComposerProps {
  readonly chat: Chat;
  readonly unsent: Unsent;
  readonly writing: Writing;
}

/** The box in which a message is written, with the options of the run that it starts. What is refused stays in the box. */
export function Composer({ chat, unsent, writing }: ComposerProps) {
  const forgetText = useText(chat.threadId.value, unsent.handed, writing.text);
  const [text, isSending, error] = [writing.text.value, writing.isSending.value, writing.error.value];
  const { attachments, set: setAttachments, forget: forgetFiles } = useAttachments(chat.threadId.value);
  const { files } = attachments;
  const box = useRef<HTMLTextAreaElement>(null);
  const [isGuarded, guard] = useState(false);
  const isEmpty = text.trim() === '' && files.length === 0;
  const choice = choiceOf(chat);
  const reason = reasonToChoose(choice);
  const reasonId = useId();
  const open = chat.open.value;
  useEffect(() => {
    if (open === undefined) guard(false);
  }, [open]);
  const noteStored = (id: string, block: Block): void =>
    setAttachments((now) => ({ ...now, files: now.files.map((each) => (each.id === id ? { ...each, block } : each)) }));
  const forgetSent = (): void => {
    writing.id = randomUuid();
    forgetText(text);
    unsent.isNoted.value = false;
    forgetFiles(files);
  };
  const sendMessage = async (): Promise<void> => {
    const settled = await settledChoiceOf(chat);
    const request = reasonToChoose(settled) === undefined && takeOptions(settled.name);
    if (!request) return;
    const content = files.length === 0 ? text : [...textBlocks(text), ...(await blocksOf(files, noteStored))];
    await chat.start({ ...request, messages: [{ role: 'user', message_id: writing.id, content }] });
    noteOptionsSent();
    forgetSent();
  };
  const send = async (way: Way): Promise<void> => {
    if (isEmpty || writing.isSending.peek()) return;
    if (way === 'asks' && chat.open.peek() !== undefined) {
      guard(true);
      return;
    }
    guard(false);
    writing.isSending.value = true;
    writing.error.value = undefined;
    const isTyping = document.activeElement === box.current;
    try {
      if (way !== 'answer') await sendMessage();
      else {
        await chat.start({ messages: [], resume: { [chat.open.peek()?.answerable ?? '']: text } });
        forgetSent();
      }
      // The button that was pressed has nothing to send any more.
      if (!isTyping && isLeft(document.activeElement)) box.current?.focus();
    } catch (thrown) {
      writing.error.value = thrown;
      throw thrown;
    } finally {
      writing.isSending.value = false;
    }
  };
  const begin = (way: Way): void => {
    // It stands in `writing.error`.
    chat.lifetime.during(() => send(way)).catch(() => undefined);
  };
  const leave = (): void => {
    writing.error.value = undefined;
    unsent.handAll();
    chat.beginAnew(choice.name);
  };
  const attach = (given: readonly File[]): void =>
    setAttachments((now) => ({ ...now, files: [...now.files, ...given.map(toAttached)] }));
  const missing = chat.missing.value;
  const isGoing = chat.isGoing.value;
  return (
    <form
      class="composer"
      aria-label="New message"
      onSubmit={(event) => {
        event.preventDefault();
        begin('asks');
      }}
    >
      {missing ? (
        <MissingThread {...{ chat, missing }} onLeave={leave} />
      ) : (
        error !== undefined && <ErrorNote error={error} />
      )}
      {unsent.isNoted.value && (
        <p class="note" role="alert">
          A question was answered elsewhere, or a message went past it. What was typed here was not sent: it stands in
          the message below.
        </p>
      )}
      {isGuarded && open !== undefined && (
        <Guard
          {...{ open, text }}
          onAnswer={() => begin('answer')}
          onPast={() => begin('past')}
          onLeave={() => {
            guard(false);
            box.current?.focus();
          }}
        />
      )}
      <div class="composer-box">
        <AttachedFiles {...{ attachments }} isDisabled={isSending} onChange={setAttachments} />
        <MessageBox box={box} chat={chat} to={choice.name} text={writing.text} onFiles={attach} />
        <div class="composer-tools">
          <AttachButton isDisabled={isSending} onFiles={attach} />
          {choice.kind === 'open' && <AgentPicker choice={choice} />}
          <Options choice={choice} />
          {reason !== undefined && (
            <p
              class={choice.kind === 'open' && choice.unknown !== undefined ? 'wrong' : 'hint'}
              role="status"
              id={reasonId}
            >
              {reason}
            </p>
          )}
          <span class="composer-keys hint" aria-hidden="true">
            <kbd>⏎</kbd> sends <kbd>⇧⏎</kbd> breaks
          </span>
          {isGoing && <StopButton chat={chat} onStopped={() => box.current?.focus()} />}
          {(!isGoing || !isEmpty || isSending) && (
            <SendButton
              {...{ isSending }}
              isDisabled={isSending || isEmpty || reason !== undefined}
              reasonId={reason === undefined ? undefined : reasonId}
            />
          )}
        </div>
      </div>
    </form>
  );
}
