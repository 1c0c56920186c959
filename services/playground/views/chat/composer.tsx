import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block } from '@agent-workflow/client';
import type { Signal } from '@preact/signals';
import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { sendByKeys } from '../../ui/shortcut.ts';
import { reasonToChoose } from './agent-choice.ts';
import { choiceOf, settledChoiceOf } from './agent-picker.tsx';
import { Attachments, blocksOf, textBlocks } from './attachments.tsx';
import type { Chat, Missing as MissingThread } from './chat.ts';
import { forgetInitialState, Options, takeOptions } from './options.tsx';
import type { Unsent } from './unsent.ts';

/** Where what was typed and not sent is kept: it outlives a reload, and goes with the tab. */
const draftKey = (threadId: string | undefined): string => `draft ${threadId ?? ''}`;

/** How long after the last key a draft is kept, in milliseconds. */
const draftMs = 250;

/** The text that stands in the box of a thread. */
function useDraft(
  threadId: string | undefined,
  handed: Signal<string>,
): readonly [string, (text: string) => void, () => void] {
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey(threadId)) ?? '');
  const latest = useRef(text);
  latest.current = text;
  const keep = useCallback(() => {
    if (latest.current === '') sessionStorage.removeItem(draftKey(threadId));
    else sessionStorage.setItem(draftKey(threadId), latest.current);
  }, [threadId]);
  useEffect(() => {
    const timer = setTimeout(keep, draftMs);
    return () => clearTimeout(timer);
  }, [text, keep]);
  useEffect(() => {
    addEventListener('pagehide', keep);
    return () => {
      removeEventListener('pagehide', keep);
      keep();
    };
  }, [keep]);
  const given = handed.value;
  useEffect(() => {
    if (given === '') return;
    setText((now) => (now.trim() === '' ? given : `${now}\n\n${given}`));
    handed.value = '';
  }, [given, handed]);
  // The first message gives the thread its id: the draft of the place without one goes too.
  const forget = (): void => {
    latest.current = '';
    sessionStorage.removeItem(draftKey(threadId));
    setText('');
  };
  return [text, setText, forget];
}

interface ComposerProps {
  readonly chat: Chat;
  readonly unsent: Unsent;
}

/** The box in which a message is written, with the options of the run that it starts. What is refused stays in the box. */
export function Composer({ chat, unsent }: ComposerProps) {
  const [text, setText, forgetText] = useDraft(chat.threadId.value, unsent.handed);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const [files, setFiles] = useState<readonly File[]>([]);
  const uploaded = useRef(new Map<File, Block>());
  const [firstId] = useState(randomUuid);
  const messageId = useRef(firstId);
  const isEmpty = text.trim() === '' && files.length === 0;
  const choice = choiceOf(chat);
  const reason = reasonToChoose(choice);
  const reasonId = useId();
  const send = async (): Promise<void> => {
    if (isEmpty || isSending) return;
    setSending(true);
    setError(undefined);
    try {
      const settled = await settledChoiceOf(chat);
      const request = reasonToChoose(settled) === undefined && takeOptions(settled.name);
      if (!request) return;
      const content = files.length === 0 ? text : [...textBlocks(text), ...(await blocksOf(files, uploaded.current))];
      await chat.start({ ...request, messages: [{ role: 'user', message_id: messageId.current, content }] });
      messageId.current = randomUuid();
      forgetInitialState();
      forgetText();
      unsent.isNoted.value = false;
      setFiles([]);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setSending(false);
    }
  };
  const leave = (): void => {
    setError(undefined);
    unsent.handAll();
    chat.beginAnew(choice.name);
  };
  const missing = chat.missing.value;
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    void send();
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
            rows={2}
            placeholder="Message to the agent. Ctrl+Enter or ⌘+Enter sends"

            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
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
      <Attachments files={files} isDisabled={isSending} onFiles={setFiles} />
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
