import { useLayoutEffect, useRef } from 'preact/hooks';
import { digest } from '../../ui/json-start.ts';
import type { OpenWait } from './open-wait.ts';

interface GuardProps {
  readonly open: OpenWait;
  /** The message that is to be sent. */
  readonly text: string;
  readonly onAnswer: () => void;
  readonly onPast: () => void;
  readonly onLeave: () => void;
}

/** Asks what a message is that comes while the agent waits: its answer, or one that goes past the question, which is then gone. */
export function Guard({ open: { kind, answerable }, text, onAnswer, onPast, onLeave }: GuardProps) {
  const first = useRef<HTMLButtonElement>(null);
  // Before the next key is pressed, which is meant for what it asks.
  useLayoutEffect(() => first.current?.focus(), []);
  const mayAnswer = answerable !== undefined && text.trim() !== '';
  const what = kind === 'question' ? 'question' : 'call of a tool';
  return (
    <div
      class="guard"
      role="group"
      aria-label="The agent waits"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        onLeave();
      }}
    >
      <p>
        <strong dir="auto">“{digest(text)}”</strong>{' '}
        <span class="hint">
          {mayAnswer
            ? 'Is this the answer to the question? Or is the question dropped, and this sent as a new message?'
            : `A new message drops the ${what} that is open. Answer above, or send it all the same.`}
        </span>
      </p>
      <div class="guard-ways">
        <button type="button" class="button-quiet" ref={mayAnswer ? null : first} onClick={onLeave}>
          Not yet
        </button>
        <button type="button" onClick={onPast}>
          {kind === 'question' ? 'Drop the question and send' : 'Drop the call and send'}
        </button>
        {mayAnswer && (
          <button type="button" class="button-first" ref={first} onClick={onAnswer}>
            Send as the answer
          </button>
        )}
      </div>
    </div>
  );
}
