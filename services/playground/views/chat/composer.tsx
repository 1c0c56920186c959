import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block } from '@agent-workflow/client';
import type { Signal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useDraft, writeDraft } from '../../session/drafts.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { sendByKeys } from '../../ui/shortcut.ts';
import { reasonToChoose } from './agent-choice.ts';
import { choiceOf, settledChoiceOf } from './agent-picker.tsx';
import { useAttachments } from './attached.ts';
import { Attachments, blocksOf, textBlocks } from './attachments.tsx';
import type { Chat, Missing as MissingThread } from './chat.ts';
import { forgetInitialState, Options, takeOptions } from './options.tsx';
import { keysOf, type Writing } from './opened.ts';
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
  const isEmpty = text.trim() === '' && files.length === 0;
  const choice = choiceOf(chat);
  const reason = reasonToChoose(choice);
  const reasonId = useId();
  const noteStored = (id: string, block: Block): void =>
    setAttachments((now) => ({ ...now, files: now.files.map((each) => (each.id === id ? { ...each, block } : each)) }));
  const send = async (): Promise<void> => {
    if (isEmpty || writing.isSending.peek()) return;
    writing.isSending.value = true;
    writing.error.value = undefined;
    const isTyping = document.activeElement === box.current;
    try {
      const settled = await settledChoiceOf(chat);
      const request = reasonToChoose(settled) === undefined && takeOptions(settled.name);
      if (!request) return;
      const content = files.length === 0 ? text : [...textBlocks(text), ...(await blocksOf(files, noteStored))];
      await chat.start({ ...request, messages: [{ role: 'user', message_id: writing.id, content }] });
      writing.id = randomUuid();
      forgetInitialState();
      forgetText(text);
      unsent.isNoted.value = false;
      forgetFiles(files);
      // The button that was pressed has nothing to send any more.
      if (!isTyping && isLeft(document.activeElement)) box.current?.focus();
    } catch (thrown) {
      writing.error.value = thrown;
      throw thrown;
    } finally {
      writing.isSending.value = false;
    }
  };
  const leave = (): void => {
    writing.error.value = undefined;
    unsent.handAll();
    chat.beginAnew(choice.name);
  };
  const missing = chat.missing.value;
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    // It stands in `writing.error`.
    chat.lifetime.during(send).catch(() => undefined);
  };
  return (
    <form class="composer" aria-label="New message" onSubmit={onSubmit}>
      {missing ? (
        <Missing {...{ chat, missing }} onLeave={leave} />
      ) : (
        error !== undefined && <ErrorNote error={error} />
      )}
      {unsent.isNoted.value && (
        <p class="note" role="alert">
          A question was answered elsewhere, or a message went past it. What was typed here was not sent: it stands in
          the message below.
        </p>
      )}
      <div class="composer-line">
        <label class="grow">
          <span class="unseen">Message</span>
          <textarea
            ref={box}
            rows={2}
            placeholder="Message to the agent. Ctrl+Enter or ⌘+Enter sends"

            value={text}
            onInput={(event) => {
              writing.text.value = event.currentTarget.value;
            }}
            onKeyDown={sendByKeys}
          />
        </label>
        <button
          type="submit"
          disabled={isSending || isEmpty || reason !== undefined}
          {...(reason !== undefined && { 'aria-describedby': reasonId })}
        >
          {isSending ? 'Sending …' : 'Send'}
        </button>
      </div>
      {reason !== undefined && (
        <p
          class={choice.kind === 'open' && choice.unknown !== undefined ? 'wrong' : 'hint'}
          role="status"
          id={reasonId}
        >
          {reason}
        </p>
      )}
      <Attachments {...{ attachments }} isDisabled={isSending} onChange={setAttachments} />
      <Options choice={choice} />
    </form>
  );
}

interface MissingProps {
  readonly chat: Chat;
  readonly missing: MissingThread;
  readonly onLeave: () => void;
}

const missingTexts: Readonly<Record<MissingThread, string>> = {
  unknown: 'There is no thread of this id: it was deleted, or never made. Nothing is sent to it.',
  deleted: 'This thread is gone: it was deleted elsewhere. What is written here was not sent.',
};

/** Says that there is no thread, and offers to go on in a new one with what is written. */
function Missing({ chat, missing, onLeave }: MissingProps) {
  return (
    <div class="note note-error" role="alert">
      <span>{missingTexts[missing]}</span>
      <button type="button" disabled={chat.followed.value !== undefined} onClick={onLeave}>
        {missing === 'deleted' ? 'Begin a new chat with it' : 'Begin a new chat'}
      </button>
    </div>
  );
}
