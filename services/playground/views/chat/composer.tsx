import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block } from '@agent-workflow/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Attachments, blocksOf, textBlocks } from './attachments.tsx';
import type { Chat } from './chat.ts';
import { forgetInitialState, Options, takeOptions } from './options.tsx';

/** Where what was typed and not sent is kept: it outlives a reload, and goes with the tab. */
const draftKey = (threadId: string | undefined): string => `draft ${threadId ?? ''}`;

/** How long after the last key a draft is kept, in milliseconds. */
const draftMs = 250;

/** The text that stands in the box of a thread. */
function useDraft(threadId: string | undefined): readonly [string, (text: string) => void, () => void] {
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey(threadId)) ?? '');
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    const keep = (): void => {
      if (latest.current === '') sessionStorage.removeItem(draftKey(threadId));
      else sessionStorage.setItem(draftKey(threadId), latest.current);
    };
    const timer = setTimeout(keep, draftMs);
    addEventListener('pagehide', keep);
    return () => {
      clearTimeout(timer);
      removeEventListener('pagehide', keep);
      keep();
    };
  }, [text, threadId]);
  // The first message gives the thread its id: the draft of the place without one goes too.
  const forget = (): void => {
    latest.current = '';
    sessionStorage.removeItem(draftKey(threadId));
    setText('');
  };
  return [text, setText, forget];
}

/** The box in which a message is written, with the options of the run that it starts. What is refused stays in the box. */
export function Composer({ chat }: { readonly chat: Chat }) {
  const [text, setText, forgetText] = useDraft(chat.threadId.value);
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const [files, setFiles] = useState<readonly File[]>([]);
  const uploaded = useRef(new Map<File, Block>());
  const messageId = useRef(randomUuid());
  const isEmpty = text.trim() === '' && files.length === 0;
  const send = async (): Promise<void> => {
    if (isEmpty || isSending) return;
    const request = takeOptions();
    if (!request) return;
    setSending(true);
    setError(undefined);
    try {
      const content = files.length === 0 ? text : [...textBlocks(text), ...(await blocksOf(files, uploaded.current))];
      await chat.start({ ...request, messages: [{ role: 'user', message_id: messageId.current, content }] });
      messageId.current = randomUuid();
      forgetInitialState();
      forgetText();
      setFiles([]);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setSending(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void send();
  };
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    void send();
  };
  return (
    <form class="composer" aria-label="New message" onSubmit={onSubmit}>
      {error !== undefined && <ErrorNote error={error} />}
      <div class="composer-line">
        <label class="grow">
          <span class="unseen">Message</span>
          <textarea
            rows={2}
            placeholder="Message to the agent. Ctrl+Enter or ⌘+Enter sends"

            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        </label>
        <button type="submit" disabled={isSending || isEmpty}>
          {isSending ? 'Sending …' : 'Send'}
        </button>
      </div>
      <Attachments files={files} isDisabled={isSending} onFiles={setFiles} />
      <Options />
    </form>
  );
}
