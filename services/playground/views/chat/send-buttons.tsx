import { useState } from 'preact/hooks';
import { toast } from '../../ui/toasts.tsx';
import { describe } from '../../session/session.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Chat } from './chat.ts';

interface SendButtonProps {
  readonly isSending: boolean;
  readonly isDisabled: boolean;
  /** The element that says why nothing can be sent. */
  readonly reasonId: string | undefined;
}

/** Sends the message. */
export const SendButton = ({ isSending, isDisabled, reasonId }: SendButtonProps) => (
  <button
    type="submit"
    class="round"
    disabled={isDisabled}
    aria-label={isSending ? 'Sending …' : 'Send'}
    title="Send"
    {...(reasonId !== undefined && { 'aria-describedby': reasonId })}
  >
    <Icon name="up" />
  </button>
);

interface StopButtonProps {
  readonly chat: Chat;
  /** Called when the run is stopped: the button goes. */
  readonly onStopped: () => void;
}

/** Stops the run. What it has said so far stays. */
export function StopButton({ chat, onStopped }: StopButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const stop = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      const { success, message } = await chat.stop();
      if (!success) toast({ text: `Nothing was stopped: ${message}` });
      onStopped();
    } catch (error) {
      if (chat.thread.missing.peek() === undefined) toast({ text: `The run was not stopped: ${describe(error)}` });
    }
    setBusy(false);
  };
  return (
    <button
      type="button"
      class="round round-quiet"
      aria-label="Stop"
      title="Stop the run"
      aria-disabled={isBusy}
      onClick={() => void stop()}
    >
      <Icon name="stop" />
    </button>
  );
}
