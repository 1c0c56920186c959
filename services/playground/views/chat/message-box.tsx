import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isSending } from '../../ui/enter-sends.ts';
import { loadMarkdown } from '../../ui/markdown/markdown.tsx';
import type { Chat } from './chat.ts';

interface MessageBoxProps {
  readonly box: RefObject<HTMLTextAreaElement>;
  readonly chat: Chat;
  /** The name of the agent, where it has one. */
  readonly to: string | undefined;
  readonly text: Signal<string>;
  /** Takes files that were pasted or dropped; absent: none are taken. */
  readonly onFiles?: (files: readonly File[]) => void;
}

/** On a touch screen Enter breaks the line: its keyboard has no Shift+Enter, and the button is at hand. */
const isTouch = matchMedia('(pointer: coarse)');

/** Grows with its text where the browser does not do that itself. */
const growsItself = CSS.supports('field-sizing', 'content');

/** The box of the next message. It has the keyboard when a chat is opened, and grows with its text. */
export function MessageBox({ box, chat, to, text, onFiles }: MessageBoxProps) {
  const { value } = text;
  const composedAt = useRef(-Infinity);
  useLayoutEffect(() => {
    const { current } = box;
    if (growsItself || !current) return;
    current.style.height = 'auto';
    current.style.height = `${String(current.scrollHeight)}px`;
  }, [value]);
  useLayoutEffect(() => {
    // The keyboard of a phone would hide the half of what is opened.
    if (!isTouch.matches && document.querySelector('dialog[open]') === null)
      box.current?.focus({ preventScroll: true });
  }, [chat]);
  const take = (event: Event, given: DataTransfer | null): void => {
    const files = [...(given?.files ?? [])];
    if (files.length === 0 || !onFiles) return;
    event.preventDefault();
    onFiles(files);
  };
  return (
    <label class="message-box">
      <span class="unseen">Message</span>
      <textarea
        ref={box}
        rows={1}
        dir="auto"
        placeholder={`Message ${to ?? 'the agent'}`}
        value={value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          // An answer is to come.
          loadMarkdown();
        }}
        onKeyDown={(event) => {
          const isMeant =
            isSending(event, event.timeStamp - composedAt.current) &&
            (!isTouch.matches || event.ctrlKey || event.metaKey);
          if (!isMeant) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
        onCompositionEnd={({ timeStamp }) => {
          composedAt.current = timeStamp;
        }}
        onPaste={(event) => take(event, event.clipboardData)}
        onDragOver={(event) => {
          if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
        }}
        onDrop={(event) => take(event, event.dataTransfer)}
      />
    </label>
  );
}
