import type { NewMessage } from '@agent-workflow/client';
import { useEffect, useState } from 'preact/hooks';
import { choiceOf } from './agent-picker.tsx';
import type { Chat } from './chat.ts';
import { takeOptions } from './options.tsx';

interface RetryProps {
  readonly chat: Chat;
  /** The run whose messages are sent again. */
  readonly runId: string;
  readonly isBusy: boolean;
  /** Does the work, and shows how it goes. */
  readonly doing: (work: () => Promise<void>) => void;
}

/** Sends the messages of a run again; there is no button while they are not known. */
export function Retry({ chat, runId, isBusy, doing }: RetryProps) {
  const [messages, setMessages] = useState<readonly NewMessage[]>([]);
  useEffect(() => {
    let isLeft = false;
    setMessages([]);
    chat.inputOf(runId).then(
      (read) => {
        if (!isLeft) setMessages(read);
      },
      // What cannot be read cannot be sent again: the box is there for it.
      () => undefined,
    );
    return () => {
      isLeft = true;
    };
  }, [chat, runId]);
  const retry = async (): Promise<void> => {
    const request = takeOptions(choiceOf(chat).name);
    if (request) await chat.start({ ...request, messages });
  };
  if (messages.length === 0) return null;
  return (
    <button type="button" aria-disabled={isBusy} onClick={() => doing(retry)}>
      Retry
    </button>
  );
}
