import type { Chat } from './chat.ts';
import type { Missing } from './chat-thread.ts';

interface MissingThreadProps {
  readonly chat: Chat;
  readonly missing: Missing;
  readonly onLeave: () => void;
}

const texts: Readonly<Record<Missing, string>> = {
  unknown: 'There is no thread of this id: it was deleted, or never made. Nothing is sent to it.',
  deleted: 'This thread is gone: it was deleted elsewhere. What is written here was not sent.',
};

/** Says that there is no thread, and offers to go on in a new one with what is written. */
export const MissingThread = ({ chat, missing, onLeave }: MissingThreadProps) => (
  <div class="note note-error" role="alert">
    <span>{texts[missing]}</span>
    <button type="button" disabled={chat.runs.followed.value !== undefined} onClick={onLeave}>
      {missing === 'deleted' ? 'Begin a new chat with it' : 'Begin a new chat'}
    </button>
  </div>
);
