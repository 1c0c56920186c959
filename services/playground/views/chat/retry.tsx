import { RequestError, type NewMessage } from '@agent-workflow/client';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Icon } from '../../ui/icon.tsx';
import { choiceOf } from './agent-picker.tsx';
import type { Chat } from './chat.ts';
import { takeOptions } from './options.tsx';

interface RetryProps {
  readonly chat: Chat;
  readonly runId: string;
  /** A run that failed begins again with the step that failed; one that was stopped is sent once more. */
  readonly isFailed: boolean;
}

/** The messages that a run began with; none while they are not known. What cannot be read cannot be sent again: the box is there for it. */
function useInput(chat: Chat, runId: string, isWanted: boolean): readonly NewMessage[] {
  const [messages, setMessages] = useState<readonly NewMessage[]>([]);
  useEffect(() => {
    let isLeft = false;
    setMessages([]);
    if (isWanted)
      chat.inputOf(runId).then(
        (read) => {
          if (!isLeft) setMessages(read);
        },
        () => undefined,
      );
    return () => {
      isLeft = true;
    };
  }, [chat, runId, isWanted]);
  return messages;
}

/** Tries a run again. Where a failed one cannot be gone on with, its messages are sent again. */
export function Retry({ chat, runId, isFailed }: RetryProps) {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const isRefused = error instanceof RequestError && error.status === 409;
  const messages = useInput(chat, runId, !isFailed || isRefused);
  const doing = (work: () => Promise<void>): void => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    work()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const sendAgain = async (): Promise<void> => {
    const request = takeOptions(choiceOf(chat).name);
    if (request) await chat.startAnew({ ...request, messages });
  };
  return (
    <>
      {error !== undefined && chat.missing.value === undefined && <ErrorNote error={error} />}
      {isFailed && !isRefused && (
        <button type="button" aria-disabled={isBusy} onClick={() => doing(() => chat.retry(runId))}>
          <Icon name="retry" />
          Retry
        </button>
      )}
      {messages.length > 0 && (
        <button type="button" class="button-quiet" aria-disabled={isBusy} onClick={() => doing(sendAgain)}>
          <Icon name="retry" />
          {isFailed ? 'Send again' : 'Retry'}
        </button>
      )}
    </>
  );
}
