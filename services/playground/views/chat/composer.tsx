import type { ComponentChildren, RefObject } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { reasonToChoose, type AgentChoice } from './agent-choice.ts';
import { AgentPicker, choiceOf } from './agent-picker.tsx';
import { toAttached } from './attached.ts';
import { AttachButton, AttachedFiles } from './attachments.tsx';
import type { Chat } from './chat.ts';
import { Guard } from './guard.tsx';
import { MessageBox } from './message-box.tsx';
import { MissingThread } from './missing-thread.tsx';
import type { Writing } from './opened.ts';
import { Options } from './options.tsx';
import { SendButton, StopButton } from './send-buttons.tsx';
import { useSending } from './sending.ts';
import type { Unsent } from './unsent.ts';

interface ComposerProps {
  readonly chat: Chat;
  readonly unsent: Unsent;
  readonly writing: Writing;
}

/** The box in which a message is written, with the options of the run that it starts. */
export function Composer({ chat, unsent, writing }: ComposerProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const { kept, isEmpty, isGuarded, unguard, begin } = useSending({ chat, unsent, writing, box });
  const isSending = writing.isSending.value;
  const choice = choiceOf(chat);
  const open = chat.open.value;
  const isOwn = chat.source.share === undefined;
  const attach = (given: readonly File[]): void =>
    kept.set((now) => ({ ...now, files: [...now.files, ...given.map(toAttached)] }));
  return (
    <form
      class="composer"
      aria-label="New message"
      onSubmit={(event) => {
        event.preventDefault();
        begin('asks');
      }}
    >
      <Notes {...{ chat, unsent, writing, choice }} />
      {isGuarded && open !== undefined && (
        <Guard
          {...{ open }}
          text={writing.text.value}
          onAnswer={() => begin('answer')}
          onPast={() => begin('past')}
          onLeave={() => {
            unguard();
            box.current?.focus();
          }}
        />
      )}
      <div class="composer-box">
        <AttachedFiles attachments={kept.attachments} isDisabled={isSending} onChange={kept.set} />
        <MessageBox box={box} chat={chat} to={choice.name} text={writing.text} {...(isOwn && { onFiles: attach })} />
        <Tools {...{ chat, box, choice, isSending, isEmpty }}>
          {isOwn && <AttachButton isDisabled={isSending} onFiles={attach} />}
        </Tools>
      </div>
    </form>
  );
}

/** Why the last message was not sent, and what became of what was typed. */
function Notes({ chat, unsent, writing, choice }: ComposerProps & { readonly choice: AgentChoice }) {
  const missing = chat.thread.missing.value;
  const error = writing.error.value;
  const leave = (): void => {
    writing.error.value = undefined;
    unsent.handAll();
    chat.beginAnew(choice.name);
  };
  return (
    <>
      {missing && <MissingThread {...{ chat, missing }} onLeave={leave} />}
      {!missing && error !== undefined && <ErrorNote error={error} />}
      {unsent.isNoted.value && (
        <p class="note" role="alert">
          A question was answered elsewhere, or a message went past it. What was typed here was not sent: it stands in
          the message below.
        </p>
      )}
    </>
  );
}

interface ToolsProps {
  readonly chat: Chat;
  readonly box: RefObject<HTMLTextAreaElement>;
  readonly choice: AgentChoice;
  readonly isSending: boolean;
  readonly isEmpty: boolean;
  readonly children: ComponentChildren;
}

/** What stands below the box: the agent, the options, and the buttons that send and stop. */
function Tools({ chat, box, choice, isSending, isEmpty, children }: ToolsProps) {
  const isGoing = chat.isGoing.value;
  const reason = reasonToChoose(choice);
  const reasonId = useId();
  return (
    <div class="composer-tools">
      {children}
      {choice.kind === 'open' && <AgentPicker choice={choice} />}
      {chat.source.share === undefined && <Options choice={choice} />}
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
  );
}
